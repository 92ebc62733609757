"""What a log may look like after a crash, told by what was promised before it (SPEC L7, L9).

A timeline is the log's content as batches in order. Appends lengthen the newest timeline; a truncation begins another,
and until it returns the old one may come back. What a crash leaves is a prefix of one of them, and has everything that
a flush promised and no truncation took back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tests.log.dumb_log import StoredBatch, read_valid_batches
from tests.log.log_checks import assert_derived, stored_batches
from tests.log.sample_log import FOLDER, NOW_MS, Step, append, open_sample, plain

from strandline.log.log import Log
from strandline.simulation.disk import SimulatedDisk


class KnownBatch(NamedTuple):
    base_offset: int
    data: bytes

    @property
    def last_offset(self) -> int:
        return self.base_offset + int.from_bytes(self.data[23:27], "big")


def known(batches: list[StoredBatch]) -> list[KnownBatch]:
    return [KnownBatch(batch.base_offset, batch.data) for batch in batches]


@dataclass
class CrashOracle:
    timelines: list[list[KnownBatch]] = field(default_factory=lambda: [[]])
    durable: list[KnownBatch] = field(default_factory=list)
    recovery_point: int = 0
    log_start_offset: int = 0  # below it nothing may come back
    removable_offset: int = 0  # below it anything may be gone
    start_offsets: set[int] = field(default_factory=lambda: {0})  # where an empty log may begin

    def follow(self, log: Log) -> None:
        """Hear of recovery points that go down before the log does, as a log directory's checkpoint does."""

        def lowered() -> None:
            self.recovery_point = log.recovery_point

        log.offsets_lowered = lowered

    def append(self, log: Log, step: Step) -> None:
        batch = bytearray(step.batch)
        base_offset = log.log_end_offset
        # Asked for is enough: a crash in the middle may keep it.
        batch[0:8] = base_offset.to_bytes(8, "big")
        batch[12:16] = step.leader_epoch.to_bytes(4, "big")
        self.timelines[-1].append(KnownBatch(base_offset, bytes(batch)))
        append(log, step)

    def flush(self, log: Log) -> None:
        log.flush(NOW_MS)
        self.flushed(log)

    def flushed(self, log: Log) -> None:
        self.durable = [batch for batch in self.timelines[-1] if batch.base_offset < log.recovery_point]
        self.recovery_point = log.recovery_point
        if log.recovery_point > log.log_start_offset:
            self.start_offsets = {log.log_start_offset}

    def truncate(self, log: Log, offset: int) -> None:
        self.durable = [batch for batch in self.durable if batch.last_offset < offset]
        self.timelines.append([batch for batch in self.timelines[-1] if batch.last_offset < offset])
        log.truncate_to(offset, now_ms=NOW_MS)
        del self.timelines[:-1]

    def start_again(self, log: Log, offset: int) -> None:
        self.durable = []
        self.timelines.append([])
        self.start_offsets |= {0, offset}
        log.truncate_fully_and_start_at(offset, now_ms=NOW_MS)
        del self.timelines[:-1]

    def recovered(self, disk: SimulatedDisk) -> Log:
        log = open_sample(disk, recovery_point=self.recovery_point, log_start_offset=self.log_start_offset)
        self.follow(log)
        return log

    def verify(self, disk: SimulatedDisk) -> None:
        log = self.recovered(disk)
        batches = stored_batches(disk, FOLDER)
        self.verify_survivors(log, known(batches))
        assert log.log_start_offset >= self.log_start_offset
        assert log.log_end_offset >= self.recovery_point or not batches
        assert_derived(log, batches, removed=self._removed(log, batches), has_exact_indexes=False)
        findings: list[str] = []
        open_sample(
            disk.kill(),
            recovery_point=self.recovery_point,
            log_start_offset=self.log_start_offset,
            findings=findings,
        )
        assert findings == []
        end = log.log_end_offset
        assert append(log, Step(plain(500), 99)).base_offset == end

    def _removed(self, log: Log, survivors: list[StoredBatch]) -> list[StoredBatch]:
        """What came before the survivors in their timeline."""
        first = log.segments.first.base_offset
        for timeline in reversed(self.timelines):
            if known(survivors) == _from(timeline, first)[: len(survivors)]:
                data = b"".join(batch.data for batch in timeline if batch.base_offset < first)
                return read_valid_batches(0, data)
        return []

    def verify_survivors(self, log: Log, survivors: list[KnownBatch]) -> None:
        first = log.segments.first.base_offset
        assert first in self.start_offsets or first <= self.removable_offset, first
        assert any(survivors == _from(timeline, first)[: len(survivors)] for timeline in self.timelines), "no prefix"
        missing = [batch for batch in _from(self.durable, first) if batch not in survivors]
        assert not missing, f"lost {missing}"
        assert len(_from(self.durable, first)) == len(self.durable) or first <= self.removable_offset


def _from(batches: list[KnownBatch], offset: int) -> list[KnownBatch]:
    return [batch for batch in batches if batch.base_offset >= offset]


def oracle_of(disk: SimulatedDisk, log: Log) -> CrashOracle:
    """Of a log that is durable to its end."""
    batches = [
        batch for name, data in sorted(_logs(disk).items()) for batch in read_valid_batches(int(name[:20]), data)
    ]
    content = known(batches)
    return CrashOracle([content], list(content), log.recovery_point, log.log_start_offset, log.log_start_offset)


def _logs(disk: SimulatedDisk) -> dict[str, bytes]:
    found = {}
    for name, size_bytes in disk.sizes(FOLDER).items():
        if name.endswith(".log"):
            file = disk.open(f"{FOLDER}/{name}", writable=False)
            found[name] = file.read(0, size_bytes)
            file.close()
    return found
