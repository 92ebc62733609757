"""What Strandline does in these tests: write a data directory for Kafka, read one of Kafka's.

What should be served is kept as it is put in, so that a mistake of our own reader cannot hide one of our writer.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from tests.interop.client import ServedRecord

from strandline.log.compaction import Compaction
from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.log_directory import LogDirectory
from strandline.log.log_writer import Appended
from strandline.model.partitions import TopicPartition
from strandline.model.settings import CleanerSettings, LogSettings
from strandline.records.batch import BatchHead, split_batches
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.control import build_marker
from strandline.records.heads import head_of
from strandline.records.record import Record, read_records

SMALL = LogSettings(segment_bytes=1500, segment_index_bytes=480, index_interval_bytes=300)
TOPICS = ("codecs", "payments", "clicks")


COMPACTED = ("table", "accounts")
MINUTE_MS = 60_000
DELETE_RETENTION_MS = MINUTE_MS


def settings_of(topic: str) -> LogSettings:
    if topic in COMPACTED:
        return replace(SMALL, cleanup_policy=("compact",), delete_retention_ms=DELETE_RETENTION_MS)
    if topic == "clicks":
        return replace(SMALL, message_timestamp_type="LogAppendTime")
    return replace(SMALL, segment_bytes=10_000) if topic == "codecs" else SMALL


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def compact(directory: LogDirectory, log: Log, *, now_ms: int) -> int:
    """Roll, and clean everything; returns where the active segment begins, which the cleaner's checkpoint now says."""
    offsets = directory.read_cleaner_offsets()
    log.roll(now_ms)
    log.producers.high_watermark_moved(log.log_end_offset)
    compaction = Compaction.plan(
        log,
        CleanerSettings(),
        first_dirty_offset=offsets.get(log.partition, 0),
        uncleanable_offset=log.log_end_offset,
        now_ms=now_ms,
    )
    assert compaction is not None
    compaction.run()
    cleaned_to = compaction.finish(log, now_ms=now_ms)
    assert cleaned_to == log.segments.active.base_offset
    directory.write_cleaner_offsets(offsets | {log.partition: cleaned_to})
    return cleaned_to


def newest_of_each_key(
    records: list[ServedRecord], *, cleaned_to: int, tombstones_gone_to: int = 0
) -> list[ServedRecord]:
    """What compaction leaves of committed records, by its definition."""
    newest = {record.key: record.offset for record in records if record.offset < cleaned_to}
    return [
        record
        for record in records
        if record.offset >= cleaned_to
        or (
            record.key is not None
            and newest[record.key] == record.offset
            and (record.value is not None or record.offset >= tombstones_gone_to)
        )
    ]


@contextmanager
def strandline(data: Path) -> Iterator[LogDirectory]:
    """A data directory in our hands, left by a clean stop."""
    directory = LogDirectory.open(RealFileSystem(), str(data), settings_of, now_ms=now_ms())
    try:
        yield directory
        directory.write_high_watermarks({each: log.log_end_offset for each, log in directory.logs.items()})
        directory.close(now_ms=now_ms())
    finally:
        directory.release()


class Writer:
    """Appends to one log, and remembers what a client must be served."""

    def __init__(self, log: Log, *, leader_epoch: int = 0) -> None:
        self.log = log
        self.leader_epoch = leader_epoch
        self.started_ms = now_ms()
        self.records: list[ServedRecord] = []
        self.aborted: list[int] = []  # offsets that no reader of committed data is shown
        self.open_from: int | None = None  # the last stable offset, while a transaction is open

    def append(
        self,
        values: Sequence[tuple[bytes | None, bytes | None]],
        *,
        codec: Codec = Codec.NONE,
        headers: tuple[tuple[str, bytes | None], ...] = (),
        producer: tuple[int, int, int] | None = None,
        is_transactional: bool = False,
        later_ms: int = 0,
    ) -> None:
        """One batch; `producer` is its id, epoch and first sequence."""
        producer_id, producer_epoch, base_sequence = producer or (-1, -1, -1)
        times = [self.started_ms + later_ms + len(self.records) + index for index in range(len(values))]
        batch = build_batch(
            [Record(index, times[index], key, value, headers) for index, (key, value) in enumerate(values)],
            codec=codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=is_transactional,
        )
        appended = self._write(batch, from_client=True)
        served_ms = appended.log_append_time_ms
        for index, (key, value) in enumerate(values):
            self.records.append(
                ServedRecord(
                    offset=appended.base_offset + index,
                    timestamp=times[index] if served_ms < 0 else served_ms,
                    timestamp_type="CreateTime" if served_ms < 0 else "LogAppendTime",
                    leader_epoch=self.leader_epoch,
                    key=key,
                    value=value,
                    headers=headers,
                )
            )

    def end_transaction(self, producer_id: int, producer_epoch: int, *, is_commit: bool) -> None:
        self._write(
            build_marker(
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                is_commit=is_commit,
                coordinator_epoch=3,
                timestamp=now_ms(),
            ),
            from_client=False,
        )

    def committed(self) -> list[ServedRecord]:
        return [
            record
            for record in self.records
            if record.offset not in self.aborted and (self.open_from is None or record.offset < self.open_from)
        ]

    def _write(self, batch: bytearray, *, from_client: bool) -> Appended:
        (outcome,) = self.log.append([batch], leader_epoch=self.leader_epoch, now_ms=now_ms(), from_client=from_client)
        assert isinstance(outcome, Appended), outcome
        return outcome


def write_topics(directory: LogDirectory, topic_ids: Mapping[str, UUID]) -> dict[str, Writer]:
    writers = {
        topic: Writer(directory.create(TopicPartition(topic, 0), now_ms=now_ms(), topic_id=topic_ids[topic]))
        for topic in TOPICS
    }
    write_codecs(writers["codecs"])
    write_payments(writers["payments"])
    write_clicks(writers["clicks"])
    return writers


def write_codecs(writer: Writer) -> None:
    """Every codec, idempotent and not; headers, nulls, a batch of many blocks; several segments."""
    for codec in Codec:
        name = codec.name.lower().encode()
        writer.append([(b"key-%d" % index, b"value %d in %s" % (index, name)) for index in range(5)], codec=codec)
        writer.append(
            [(b"with", b"headers"), (None, b"no key")],
            codec=codec,
            headers=(("trace", b"abc"), ("trace", None), ("", b""), ("größe", "潮".encode())),
        )
        writer.append([(b"no value", None), (None, None), (b"", b"")], codec=codec)
        for sequence in (0, 3, 6):
            writer.append([(b"once", b"only")] * 3, codec=codec, producer=(1000 + codec, 0, sequence))
        if codec is not Codec.NONE:
            writer.append([(b"big", b"tide %d;" % index * 2000) for index in range(10)], codec=codec)


def write_payments(writer: Writer) -> None:
    """Two transactional producers in turn, one committed and one aborted; the last transaction stays open."""
    for turn in range(6):
        writer.append([(b"a", b"kept")] * 3, producer=(7, 1, 3 * turn), is_transactional=True)
        before = writer.log.log_end_offset
        writer.append([(b"b", b"dropped")] * 2, producer=(8, 4, 2 * turn), is_transactional=True, codec=Codec.LZ4)
        writer.aborted += range(before, writer.log.log_end_offset)
        writer.append([(b"plain", b"outside")])
        writer.end_transaction(8, 4, is_commit=False)
        writer.end_transaction(7, 1, is_commit=True)
    writer.open_from = writer.log.log_end_offset
    writer.append([(b"a", b"open")], producer=(7, 1, 18), is_transactional=True)


def write_clicks(writer: Writer) -> None:
    """Stamped with our clock, and begun anew at offset 20 by DeleteRecords."""
    for turn in range(10):
        writer.append([(b"click-%d" % index, b"in turn %d" % turn) for index in range(6)])
    writer.log.advance_log_start(20, high_watermark=writer.log.log_end_offset)


def write_table(writer: Writer, turn: int) -> None:
    """Work for a cleaner: each turn overwrites the one before, in every codec, and ends with what it has deleted."""
    for codec in Codec:
        values = [(b"%s-%d" % (codec.name.encode(), number), b"in turn %d" % turn) for number in range(2 + turn)]
        first_sequence = sum(range(2, 2 + turn))
        writer.append(values, codec=codec, producer=(100 + codec, 0, first_sequence), headers=(("by", b"turn"),))
    # All that its producer wrote is overwritten at once, so that an empty batch must keep its sequence.
    writer.append([(b"shared", b"soon gone")] * 2, producer=(200 + turn, 0, 0), codec=Codec.SNAPPY)
    writer.append([(b"shared", b"since turn %d" % turn), (b"deleted-%d" % turn, b"not yet")])
    # Of one transaction a record stays in every turn, the others are wholly overwritten, or aborted.
    writer.append([(b"a-%d" % turn, b"stays"), (b"a", b"kept")], producer=(7, 1, 2 * turn), is_transactional=True)
    writer.end_transaction(7, 1, is_commit=True)
    writer.append([(b"c", b"until the next turn")], producer=(9, 0, turn), is_transactional=True, codec=Codec.GZIP)
    writer.end_transaction(9, 0, is_commit=True)
    writer.aborted.append(writer.log.log_end_offset)
    # The greatest time of its turn stands in a batch that will have no records.
    writer.append(
        [(b"a", b"dropped")], producer=(8, 4, turn), is_transactional=True, codec=Codec.LZ4, later_ms=MINUTE_MS
    )
    writer.end_transaction(8, 4, is_commit=False)
    writer.append([(b"deleted-%d" % turn, None), (b"turn", b"%d" % turn)], codec=Codec.ZSTD)


def read_records_of(log: Log) -> list[ServedRecord]:
    """What our own reader makes of a log: all that lies between its start and its end, but for control records."""
    served: list[ServedRecord] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        for batch in split_batches(log.read(offset, 4096).read()):
            head = head_of(batch)
            offset = head.next_offset
            if not head.is_control:
                served += [_served(record, head) for record in read_records(batch)]
    return [record for record in served if record.offset >= log.log_start_offset]


def _served(record: Record, head: BatchHead) -> ServedRecord:
    timestamp_type = "LogAppendTime" if head.is_log_append_time else "CreateTime"
    return ServedRecord(
        record.offset, record.timestamp, timestamp_type, head.leader_epoch, record.key, record.value, record.headers
    )
