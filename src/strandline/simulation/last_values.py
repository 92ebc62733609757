"""What a compacted topic must have: the last committed value of each key, and nothing later.

What a transaction has written counts when its marker says that it is committed, from then on in its place in the log:
what was written after it, outside of transactions say, stays the last.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from strandline.broker.cluster_image import CONSUMER_OFFSETS, TRANSACTION_STATE
from strandline.log.log import Log
from strandline.records.batch import split_batches
from strandline.records.heads import head_of
from strandline.records.record import Record, read_records
from strandline.simulation.observed import READ_BYTES, Batch, Kind, PartitionTruth, Replica
from strandline.simulation.profiles import PARTITION
from strandline.simulation.transaction_load import TransactionLoad
from strandline.simulation.written_load import Written

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

DELETE_RETENTION_MS = 6_000
Last = tuple[int, bytes | None]  # offset and value
View = dict[bytes | None, Last]  # of each key the last


def data_batches(log: Log) -> Iterator[memoryview]:
    """Those that are no markers."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, READ_BYTES).read()
        if not data:
            return
        for batch in split_batches(data):
            head = head_of(batch)
            if not head.is_control:
                yield batch
        offset = head.last_offset + 1


class Progress:
    """How far a log had come, or a reader, and when."""

    def __init__(self) -> None:
        self._places: list[tuple[int, int]] = []

    def came_to(self, offset: int, now_us: int) -> None:
        """A log may have been cut."""
        while self._places and self._places[-1][0] > offset:
            self._places.pop()
        if not self._places or self._places[-1][0] < offset:
            self._places.append((offset, now_us))

    def passed_us(self, offset: int) -> int:
        """When it had what is there, or that was there no more; 0 if it is not as far."""
        passed = self._places[bisect_right(self._places, offset, key=lambda place: place[0]) :]
        return passed[0][1] if passed else 0


class CommittedValues:
    """Of each key the last that is committed, as markers and the high watermark have it."""

    def __init__(self, written: Written) -> None:
        self.last: View = {}
        self.committed_us: dict[bytes | None, int] = {}  # when the last of each key was
        self._written = written
        self._followed = 0
        self._open: dict[int, list[Batch]] = {}  # by producer id
        self._not_committed: set[int] = set()  # base offsets of what is of open or aborted transactions

    def follow(self, truth: PartitionTruth, now_us: int) -> None:
        followed, self._followed = self._followed, len(truth.committed)
        for batch in truth.committed[followed:]:
            if batch.kind is Kind.PLAIN:
                self._take(batch, now_us)
            elif batch.kind is Kind.TRANSACTIONAL:
                self._open.setdefault(batch.producer_id, []).append(batch)
                self._not_committed.add(batch.base_offset)
            else:
                self._end(batch, now_us)

    def _end(self, marker: Batch, now_us: int) -> None:
        ended = self._open.pop(marker.producer_id, [])
        if marker.kind is Kind.COMMIT_MARKER:
            for batch in ended:
                self._not_committed.discard(batch.base_offset)
                self._take(batch, now_us)

    def _take(self, batch: Batch, now_us: int) -> None:
        for offset, record in enumerate(self._written[batch.crc], batch.base_offset):
            if record.key not in self.last or self.last[record.key][0] < offset:
                self.last[record.key] = (offset, record.value)
                self.committed_us[record.key] = now_us

    def view_of(self, log: Log, end_offset: int) -> View:
        """The last of each key that is in a log, of what is committed."""
        return {record.key: (record.offset, record.value) for record in self._committed_in(log, end_offset)}

    def superfluous_in(self, log: Log) -> int:
        """How many records a cleaner would take out of its closed segments."""
        end_offset = log.segments.active.base_offset
        offsets = [record.offset for batch in data_batches(log) for record in read_records(batch)]
        return sum(offset < end_offset for offset in offsets) - len(self.view_of(log, end_offset))

    def _committed_in(self, log: Log, end_offset: int) -> Iterator[Record]:
        for batch in data_batches(log):
            if head_of(batch).base_offset not in self._not_committed:
                yield from (record for record in read_records(batch) if record.offset < end_offset)


class LastValues:
    """Every replica that may be elected has the last committed value of each key, and nothing later.

    A tombstone may be gone `delete.retention.ms` after it was committed. Whoever comes to its place so late, be it a
    reader or a follower that was away, need not have seen it, and may still have what was before it, in Kafka too."""

    name = "LastValues"

    def __init__(self, simulation: Simulation, written: Written) -> None:
        self.values = CommittedValues(written)
        self._simulation = simulation
        self._looked: dict[Replica, tuple[object, ...]] = {}
        self._progress: dict[Replica, Progress] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.name.topic in (CONSUMER_OFFSETS, TRANSACTION_STATE, TransactionLoad.topic):
            truth.is_compacted = True
        if truth.name != PARTITION:
            return
        truth.is_compacted = True
        self.values.follow(truth, self._simulation.world.now_us)
        for replica in truth.replicas.values():
            progress = self._progress.setdefault(replica, Progress())
            progress.came_to(replica.log_end_offset, self._simulation.world.now_us)
            seen = (replica.log, replica.reshapes, replica.leads_in)
            if seen != self._looked.get(replica) and must_have_all(truth, replica):
                self._looked[replica] = seen
                yield from self.compare(truth, replica)

    def may_be_gone(self, key: bytes | None, at_us: int) -> bool:
        """A tombstone, by then."""
        gone_ms = self.values.committed_us[key] // 1000 + DELETE_RETENTION_MS
        return self.values.last[key][1] is None and at_us // 1000 >= gone_ms

    def compare(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]:
        log = replica.log
        if log is None or log.is_closed or log.failure is not None:
            return
        with self._simulation.machines[replica.broker_id - 1].watched():
            view = self.values.view_of(log, truth.committed_end)
        for key, last in self.values.last.items():
            if view.get(key) == last:
                continue
            missed_us = self._progress[replica].passed_us(last[0]) if key in view else self._simulation.world.now_us
            if not self.may_be_gone(key, missed_us):
                yield f"{replica.broker_id} has {view.get(key)} for {key!r}, and {last} is its last committed value"

    def superfluous(self, replica: Replica) -> int | None:
        """How many records a cleaner would still take out; None where nobody can read the log."""
        log = replica.readable_log
        if log is None:
            return None
        with self._simulation.machines[replica.broker_id - 1].watched():
            return self.values.superfluous_in(log)


def must_have_all(truth: PartitionTruth, replica: Replica) -> bool:
    """Whoever may be elected, and is known."""
    is_known = replica.is_up and not replica.is_unread and not replica.has_lost_power
    return is_known and truth.stored is not None and replica.broker_id in truth.stored.isr
