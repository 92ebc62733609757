"""What cleaning must do and must not, besides leaving the last value of each key (`last_values`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strandline.log.log import Log
from strandline.records.record import read_records
from strandline.simulation.last_values import DELETE_RETENTION_MS, data_batches, must_have_all
from strandline.simulation.machine import Machine
from strandline.simulation.observed import Batch, Kind, PartitionTruth, Replica
from strandline.simulation.profiles import PARTITION


class Reshaped:
    """Which replicas have another log than when they were last looked at: one that was opened, truncated or cleaned."""

    def __init__(self) -> None:
        self._seen: dict[Replica, tuple[Log | None, int]] = {}

    def among(self, truth: PartitionTruth) -> Iterator[Replica]:
        for replica in truth.replicas.values():
            seen = (replica.log, replica.reshapes)
            if seen != self._seen.get(replica):
                self._seen[replica] = seen
                yield replica


class Tombstones:
    """Of one log, as its cleanings have left them."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._cleaned_to = 0
        self._met_us: dict[int, int] = {}  # by offset: when the first cleaning ended that reached it
        self._overdue: set[int] = set()  # when the last cleaning ended

    def cleaned(self, cleaned_to: int, now_us: int) -> Iterator[int]:
        """The next cleaning has ended, or none has; those that should have gone in it."""
        if cleaned_to <= self._cleaned_to:
            return
        self._cleaned_to = cleaned_to
        there = [offset for offset in tombstones_in(self.log) if offset < cleaned_to]
        yield from (offset for offset in there if offset in self._overdue)
        self._met_us = {offset: self._met_us.get(offset, now_us) for offset in there}
        self._overdue = {offset for offset in there if now_us - self._met_us[offset] > DELETE_RETENTION_MS * 1000}


class TombstonesGo:
    """A tombstone goes with the first cleaning that begins `delete.retention.ms` after one has met it.

    Where no cleaning begins it stays, in Kafka too. When one has begun nobody sees: it begins after the one before it
    has ended. What happens to a log while it is not in sync, or between two lives, is not followed."""

    name = "TombstonesGo"

    def __init__(self, machines: Sequence[Machine]) -> None:
        self._machines = machines
        self._reshaped = Reshaped()
        self._known: dict[Replica, Tombstones] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.name != PARTITION:
            return
        for replica in self._reshaped.among(truth):
            log = replica.readable_log
            if log is None or not must_have_all(truth, replica):
                self._known.pop(replica, None)
                continue
            known = self._known.get(replica)
            if known is None or known.log is not log:
                known = self._known[replica] = Tombstones(log)
            yield from self._look(replica, known)

    def _look(self, replica: Replica, known: Tombstones) -> Iterator[str]:
        machine = self._machines[replica.broker_id - 1]
        with machine.watched():
            for offset in known.cleaned(cleaned_to(machine), machine.world.now_us):
                yield (
                    f"{replica.broker_id} has a tombstone at {offset}, which an earlier cleaning has met, and another"
                    f" has left, more than delete.retention.ms={DELETE_RETENTION_MS} later"
                )


def tombstones_in(log: Log) -> Iterator[int]:
    for batch in data_batches(log):
        yield from (record.offset for record in read_records(batch) if record.value is None)


def cleaned_to(machine: Machine) -> int:
    """As its cleaner has it."""
    assert machine.broker is not None
    directory = machine.broker.directories.directory_of(PARTITION)
    return 0 if directory is None else directory.cleaner_offsets.get(PARTITION, 0)


class LastBatchesStay:
    """Of each idempotent producer a log keeps the last batch, if only its head: whoever opens the log knows by it what
    may come next (KAFKA-5490).

    A leader that others went on without may have had a later one when it cleaned, and have lost it since; whoever
    begins anew with its log has neither. In Kafka, too. So nobody need have one after which anybody had another."""

    name = "LastBatchesStay"

    def __init__(self) -> None:
        self._reshaped = Reshaped()
        self._followed = 0
        self._last: dict[int, Batch] = {}  # by producer id, of what is committed
        self._newest: dict[int, int] = {}  # by producer id: the last offset at which any replica ever had a batch
        self._noted_to: dict[Replica, int] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.name != PARTITION:
            return
        followed, self._followed = self._followed, len(truth.committed)
        for batch in truth.committed[followed:]:
            if batch.kind is Kind.PLAIN and batch.producer_id >= 0:
                self._last[batch.producer_id] = batch
        for replica in truth.replicas.values():
            self._note(replica)
        for replica in self._reshaped.among(truth):
            if must_have_all(truth, replica):
                yield from self._compare(replica)

    def _note(self, replica: Replica) -> None:
        """What has been appended since, down to what was noted before, or to where it was cut."""
        noted_to = self._noted_to.get(replica, -1)
        self._noted_to[replica] = next(reversed(replica.batches), -1)
        for base_offset in reversed(replica.batches):
            if base_offset <= noted_to:
                break
            batch = replica.batches[base_offset]
            self._newest[batch.producer_id] = max(batch.last_offset, self._newest.get(batch.producer_id, -1))

    def _compare(self, replica: Replica) -> Iterator[str]:
        ends = {batch.producer_id: batch.last_offset for batch in replica.batches.values()}
        for producer_id, last in self._last.items():
            end = ends.get(producer_id, -1)
            if end < last.last_offset and self._newest.get(producer_id, -1) <= last.last_offset:
                yield f"{replica.broker_id} has nothing left of {last}, the last of producer {producer_id}"
