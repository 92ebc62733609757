"""A small compacted log that tests write to, clean, and read as consumers do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from strandline.log.compaction import Compaction
from strandline.log.log import Log
from strandline.log.offset_map import entry_bytes, table_bytes
from strandline.log.producer_state import ProducerState
from strandline.log.recovery import open_log
from strandline.model.failures import Refused
from strandline.model.partitions import TopicPartition
from strandline.model.settings import CleanerSettings, LogSettings
from strandline.records.batch import BatchHead, Buffer
from strandline.records.builder import build_batch
from strandline.records.control import build_marker
from strandline.records.heads import verified_head_of
from strandline.records.record import Record, read_records
from strandline.simulation.disk import SimulatedDisk

DIRECTORY = "/table-0"
PARTITION = TopicPartition("table", 0)
NOW = 1_000_000
DELETE_RETENTION_MS = 1000
SETTINGS = LogSettings(
    cleanup_policy=("compact",),
    segment_bytes=100_000,
    segment_index_bytes=1200,
    index_interval_bytes=100,
    delete_retention_ms=DELETE_RETENTION_MS,
)
ONE_KEY = CleanerSettings(dedupe_buffer_size=1)
Pair = tuple[str | None, str | None]


class Producer:
    """An idempotent or transactional client's own view: its next sequence."""

    def __init__(self, producer_id: int, *, epoch: int = 0, is_transactional: bool = False) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.is_transactional = is_transactional
        self.sequence = 0


class ProducerSummary(NamedTuple):
    """What survives compaction of a producer: enough to judge its next batch."""

    producer_epoch: int
    last_sequence: int | None
    last_offset: int | None
    current_transaction_first_offset: int | None


class Scene:
    def __init__(self, disk: SimulatedDisk | None = None, **settings: Any) -> None:
        self.disk = disk or SimulatedDisk()
        values = {name: getattr(SETTINGS, name) for name in SETTINGS.__slots__}
        self.settings = LogSettings(**{**values, **settings})
        self.findings: list[str] = []
        self.log = self.open()
        self.now = NOW
        self.first_dirty_offset = 0

    def open(self, *, recovery_point: int = 0) -> Log:
        return open_log(
            self.disk,
            DIRECTORY,
            PARTITION,
            self.settings,
            now_ms=NOW,
            findings=self.findings,
            recovery_point=recovery_point,
        )

    def reopen(self, *, without_snapshots: bool = False) -> None:
        """As after the death of the process: nothing was closed, everything is recovered."""
        self.disk = self.disk.kill()
        if without_snapshots:
            for name in self.disk.names(DIRECTORY):
                if name.endswith(".snapshot"):
                    self.disk.remove(f"{DIRECTORY}/{name}")
        self.log = self.open()

    # Writing.

    def append(self, batch: Buffer, *, from_client: bool = True) -> int:
        (outcome,) = self.log.append([batch], leader_epoch=3, now_ms=self.now, from_client=from_client)
        assert not isinstance(outcome, Refused), outcome
        self.log.producers.high_watermark_moved(self.log.log_end_offset)
        return outcome.base_offset

    def write(self, *pairs: Pair, producer: Producer | None = None, **batch: Any) -> int:
        """One batch; the timestamps of its records count up from `now`. Returns its base offset."""
        records = [
            Record(index, self.now + index, _bytes(key), _bytes(value)) for index, (key, value) in enumerate(pairs)
        ]
        if producer is not None:
            batch["producer_id"] = producer.producer_id
            batch["producer_epoch"] = producer.epoch
            batch["base_sequence"] = producer.sequence
            batch["is_transactional"] = producer.is_transactional
            producer.sequence += len(pairs)
        if any(key is None for key, _ in pairs) or "delete_horizon_ms" in batch:
            # No client may send these; they are there from before the topic was compacted, or from its leader.
            return self.replicate(build_batch(records, leader_epoch=3, **batch))
        return self.append(build_batch(records, **batch))

    def replicate(self, data: bytearray) -> int:
        """As a follower takes it, unjudged."""
        base_offset = self.log.log_end_offset
        data[:8] = base_offset.to_bytes(8, "big")
        self.log.append_replicated(data, now_ms=self.now)
        return base_offset

    def end(self, producer: Producer, *, commit: bool) -> int:
        marker = build_marker(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            is_commit=commit,
            coordinator_epoch=1,
            timestamp=self.now,
        )
        return self.append(marker, from_client=False)

    def roll(self) -> None:
        self.log.roll(self.now)

    # Cleaning.

    def plan(self, cleaner: CleanerSettings | None = None, uncleanable_offset: int | None = None) -> Compaction | None:
        first_unstable = self.log.producers.first_unstable_offset
        bound = self.log.log_end_offset if uncleanable_offset is None else uncleanable_offset
        return Compaction.plan(
            self.log,
            cleaner or CleanerSettings(),
            first_dirty_offset=self.first_dirty_offset,
            uncleanable_offset=bound if first_unstable is None else min(bound, first_unstable),
            now_ms=self.now,
        )

    def clean(
        self,
        cleaner: CleanerSettings | None = None,
        *,
        uncleanable_offset: int | None = None,
        first_dirty_offset: int | None = None,
    ) -> Compaction | None:
        if first_dirty_offset is not None:
            self.first_dirty_offset = first_dirty_offset
        compaction = self.plan(cleaner, uncleanable_offset)
        if compaction is not None:
            compaction.run()
            finished = compaction.finish(self.log, now_ms=self.now)
            assert finished is not None
            self.first_dirty_offset = finished
        return compaction

    def roll_and_clean(self, cleaner: CleanerSettings | None = None) -> None:
        """All of the log, again and again where the map is small."""
        self.roll()
        self.first_dirty_offset = 0
        while self.clean(cleaner) is not None:
            pass

    # Reading.

    def batches(self) -> Iterator[tuple[BatchHead, bytes]]:
        for segment in self.log.segments.all():
            for _, batch in segment.batches():
                yield verified_head_of(batch), bytes(batch)

    def heads(self) -> list[BatchHead]:
        return [head for head, _ in self.batches()]

    def head_at(self, base_offset: int) -> BatchHead | None:
        return next((head for head in self.heads() if head.base_offset == base_offset), None)

    def records(self) -> list[Record]:
        """All data, as a read_uncommitted reader gets it."""
        return [record for head, batch in self.batches() if not head.is_control for record in read_records(batch)]

    def pairs(self) -> list[tuple[int, str | None, str | None]]:
        return [(record.offset, _text(record.key), _text(record.value)) for record in self.records()]

    def committed(self) -> list[Record]:
        """As a read_committed client: by the aborted transactions that the log tells, and by the markers it meets."""
        end = self.log.log_end_offset
        aborted = sorted(self.log.aborted_transactions(0, end), key=lambda each: each.first_offset)
        skipping: set[int] = set()
        found: list[Record] = []
        for head, batch in self.batches():
            while aborted and aborted[0].first_offset <= head.last_offset:
                skipping.add(aborted.pop(0).producer_id)
            if head.is_control:
                skipping.discard(head.producer_id)
            elif not (head.is_transactional and head.producer_id in skipping):
                found += read_records(batch)
        return found

    def table(self) -> dict[str, str]:
        """What a reader from the beginning ends up with."""
        table: dict[str, str] = {}
        for record in self.committed():
            if record.key is not None:
                table.pop(record.key.decode(), None)
                if record.value is not None:
                    table[record.key.decode()] = record.value.decode()
        return table

    def names(self, *endings: str) -> list[str]:
        return [name for name in self.disk.names(DIRECTORY) if name.endswith(endings)]

    def base_offsets(self) -> list[int]:
        return [segment.base_offset for segment in self.log.segments.all()]


def summary_of(producers: ProducerState) -> dict[int, ProducerSummary]:
    return {
        entry.producer_id: ProducerSummary(
            entry.producer_epoch,
            entry.last_batch.last_sequence if entry.last_batch else None,
            entry.last_batch.last_offset if entry.last_batch else None,
            entry.current_transaction_first_offset,
        )
        for entry in producers.entries()
    }


def map_bytes_for(keys: int) -> CleanerSettings:
    """A cleaner whose map takes about this many keys of up to 15 bytes."""
    slots = 8
    while keys > slots * 2 // 3:
        slots *= 2
    needed = keys * entry_bytes(15) + table_bytes(slots) + (table_bytes(slots // 2) if slots > 8 else 0)
    return CleanerSettings(dedupe_buffer_size=needed, io_buffer_load_factor=1.0)


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
