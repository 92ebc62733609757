"""What must be true of the disks when a run has come to its end: everything is mended, and every file has its reason.

A copy of a disk is looked at, as the next process would find it: nothing that is done to it is seen by the run. A disk
takes a while, so of all brokers one is chosen, by the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple, Protocol

from strandline.broker.broker import Broker
from strandline.broker.housekeeping.removals import INTERVAL_MAX_MS
from strandline.log import names
from strandline.log.inspection_check import LEFTOVERS, PartitionCheck
from strandline.log.inspection_fault import Tally
from strandline.log.leader_epochs import LeaderEpoch
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import LogDirectory
from strandline.log.producer_entry import CachedBatch
from strandline.model.partitions import DELETED_FOLDER, TopicPartition
from strandline.simulation.disk import SimulatedDisk
from strandline.simulation.flushed_survives import FlushedSurvives
from strandline.simulation.machine import DATA, Machine

REMOVAL_LATE_MS = INTERVAL_MAX_MS  # of looking for what is due


class AtRest(Protocol):
    name: str

    def check(self, machine: Machine, broker: Broker) -> Iterator[str]: ...


class IndexesAreTrue:
    """Entries of every index ascend and point at batches, as `strandline log check` has it; whatever else it finds in
    a partition is wrong, too.

    How many entries the indexes of the active segment have is known in memory alone: behind them may be those of a past
    that was truncated (`mapped_index`), which whoever starts after a kill makes anew. They are cut off the copy."""

    name = "IndexesAreTrue"

    def check(self, machine: Machine, broker: Broker) -> Iterator[str]:
        disk = machine.disk.kill()
        for log in logs_in(broker):
            active = log.segments.active
            for index in (active.offset_index, active.time_index):
                if disk.exists(index.path):
                    disk.open(index.path).truncate(index.entry_count * index.ENTRY.size)
            check = PartitionCheck(disk, log.directory, Tally(), lambda _: None, is_at_rest=False)
            yield from map(str, check.faults())


class NothingLeftOver:
    """No file of a segment that was replaced or deleted waits longer than it should, or with nobody who would remove
    it; nor does a folder of a partition.

    What a thread is about to remove is known to the thread alone, and what the cleaner is about to put in place to the
    cleaner: while they are at work they are not asked. Folders that were set aside stay for ever."""

    name = "NothingLeftOver"

    def check(self, machine: Machine, broker: Broker) -> Iterator[str]:
        host = machine.host
        if host is None or not host.is_idle or broker.housekeeping.cleaner.under_way():
            return
        if machine.clock_set_us is not None and host.world.now_us - machine.clock_set_us < REMOVAL_LATE_MS * 1_000:
            return  # with a leap of the clock all that waits is late
        disk, now_ms = machine.disk, host.now_ms()
        for directory in broker.directories.online():
            yield from folders_left_over(disk, directory, now_ms)
            for log in directory.logs.values():
                yield from files_left_over(disk, log, now_ms)


def files_left_over(disk: SimulatedDisk, log: Log, now_ms: int) -> Iterator[str]:
    waiting = {each.what.path(kind): each.due_ms for each in log.deletions.due for kind in names.SEGMENT_SUFFIXES}
    for name in disk.sizes(log.directory):
        path = f"{log.directory}/{name}"
        if name.endswith(LEFTOVERS) or (name.endswith(names.DELETED) and path not in waiting):
            yield f"{path} is left over, and nobody will remove it"
        elif name.endswith(names.DELETED) and waiting[path] + REMOVAL_LATE_MS < now_ms:
            yield f"{path} should have gone {now_ms - waiting[path]} ms ago"


def folders_left_over(disk: SimulatedDisk, directory: LogDirectory, now_ms: int) -> Iterator[str]:
    waiting = {each.what: each.due_ms for each in directory.removals}
    for name in disk.names(directory.path):
        path = f"{directory.path}/{name}"
        if not DELETED_FOLDER.fullmatch(name):
            continue
        if path not in waiting:
            yield f"{path} is left over, and nobody will remove it"
        elif waiting[path] + REMOVAL_LATE_MS < now_ms:
            yield f"{path} should have gone {now_ms - waiting[path]} ms ago"


class ProducerFound(NamedTuple):
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    batches: tuple[CachedBatch, ...]
    transaction_first_offset: int | None
    last_timestamp: int


class LogFound(NamedTuple):
    """All that opening a log comes to."""

    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    doubtful_from: int | None
    epochs: tuple[LeaderEpoch, ...]
    producers: tuple[ProducerFound, ...]
    first_unstable_offset: int | None
    segments: tuple[tuple[int, int], ...]  # base offset and size

    @classmethod
    def of(cls, log: Log) -> LogFound:
        return cls(
            log.log_start_offset,
            log.log_end_offset,
            log.recovery_point,
            log.doubtful_from,
            log.epochs.entries(),
            producers_of(log),
            log.producers.first_unstable_offset,
            tuple((segment.base_offset, segment.size_bytes) for segment in log.segments.all()),
        )

    def differences(self, other: LogFound) -> Iterator[str]:
        for field, mine, theirs in zip(self._fields, self, other, strict=True):
            if mine != theirs:
                yield f"{field} {mine}, then {theirs}"


def producers_of(log: Log) -> tuple[ProducerFound, ...]:
    return tuple(
        ProducerFound(
            entry.producer_id,
            entry.producer_epoch,
            entry.coordinator_epoch,
            tuple(entry.batches),
            entry.current_transaction_first_offset,
            entry.last_timestamp,
        )
        for entry in sorted(log.producers.entries(), key=lambda entry: entry.producer_id)
    )


class SameWhenOpenedAgain:
    """Power goes; what the next process makes of the disk, the one after it finds again: recovery has to be done once.

    What survives is drawn from a stream that nobody else draws from."""

    name = "SameWhenOpenedAgain"

    def check(self, machine: Machine, broker: Broker) -> Iterator[str]:
        disk = machine.disk.crash(Random(f"{machine.world.seed}/opened again"))
        first = opened(disk, machine, broker)
        second = opened(disk.kill(), machine, broker)
        if first.keys() != second.keys():
            yield f"opened with {list(map(str, first))}, then with {list(map(str, second))}"
        for partition, found in first.items():
            for difference in found.differences(second.get(partition, found)):
                yield f"{partition} is opened with {difference}"


def opened(disk: SimulatedDisk, machine: Machine, broker: Broker) -> dict[TopicPartition, LogFound]:
    directories = LogDirectories.open(disk, [DATA], broker.configuration.log_settings, now_ms=machine.world.now_ms)
    (directory,) = directories.directories
    return {partition: LogFound.of(log) for partition, log in directory.logs.items()}


def logs_in(broker: Broker) -> Iterator[Log]:
    for directory in broker.directories.online():
        yield from directory.logs.values()


def complaints_at_rest(machine: Machine, *, is_chosen: bool) -> Iterator[tuple[str, str]]:
    """The invariant that does not hold, and what is wrong."""
    broker = machine.broker
    if broker is None:
        return
    invariants: tuple[AtRest, ...] = (NothingLeftOver(),)
    if is_chosen:
        invariants += (IndexesAreTrue(), SameWhenOpenedAgain(), FlushedSurvives())
    with machine.watched():
        for invariant in invariants:
            for sentence in invariant.check(machine, broker):
                yield invariant.name, f"{machine.name}: {sentence}"
