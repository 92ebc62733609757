"""The leader epochs that a log keeps, against those of its batches.

They are derived once more, from the batches that the observer has read. Only what is new is looked at; a log that was
read as a whole, after a start, a truncation, a cleaning or a deletion, is new as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from strandline.log.leader_epochs import LeaderEpochs
from strandline.log.log import Log
from strandline.simulation.observed import Batch, PartitionTruth, Replica


class EpochRun:
    """Neighbouring batches of one epoch."""

    __slots__ = ("epoch", "first_offset", "last_base_offset")

    def __init__(self, epoch: int, first_offset: int) -> None:
        self.epoch = epoch
        self.first_offset = self.last_base_offset = first_offset


class EpochsFound:
    """In what was read of a log."""

    def __init__(self, batches: dict[int, Batch]) -> None:
        self.batches = batches  # by which it is known whether it was read as a whole since
        self.runs: list[EpochRun] = []
        self.offsets_seen: object = None  # by whoever looked last
        self.entries_seen: object = None

    def add(self, batch: Batch) -> None:
        runs = self.runs
        if not runs or runs[-1].epoch != batch.leader_epoch:
            runs.append(EpochRun(batch.leader_epoch, batch.base_offset))
        runs[-1].last_base_offset = batch.base_offset

    def starts(self, log_start_offset: int, log_end_offset: int) -> list[tuple[int, int]]:
        """Of those that have a record which is not deleted."""
        ends = [*(run.first_offset for run in self.runs[1:]), log_end_offset]
        return [
            (run.epoch, max(run.first_offset, log_start_offset))
            for run, end in zip(self.runs, ends, strict=False)
            if end > log_start_offset
        ]


class EpochsAreTrue:
    """The leader epochs of a log ascend in both columns, and are those of its batches.

    The last may begin at the end of the log: it was elected and has written nothing. The first may begin below the
    log's start, where that lies within a batch. Of a compacted log an epoch may have no batch left: then it is asked
    whose each batch is."""

    name = "EpochsAreTrue"

    def __init__(self) -> None:
        self._found: dict[Replica, EpochsFound] = {}

    def check(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]:
        found = self._found.get(replica)
        if found is None or found.batches is not replica.batches:
            found = self._found[replica] = EpochsFound(replica.batches)
        for batch in replica.news:
            found.add(batch)
        offsets = (replica.log_end_offset, replica.log_start_offset, replica.leader_epoch)
        if found.offsets_seen != offsets and (log := replica.readable_log) is not None:
            found.offsets_seen = offsets
            for sentence in complaints_about_epochs(log, found, is_compacted=truth.is_compacted):
                yield f"{replica.broker_id}: {sentence}"


def complaints_about_epochs(log: Log, found: EpochsFound, *, is_compacted: bool) -> Iterator[str]:
    entries, start, end = log.epochs.entries(), log.log_start_offset, log.log_end_offset
    seen = (entries, start, len(found.runs), bool(entries) and entries[-1].start_offset < end)
    if seen == found.entries_seen:
        return  # what has come since goes on with the last epoch
    found.entries_seen = seen
    for before, following in pairwise(entries):
        if not (before.epoch < following.epoch and before.start_offset < following.start_offset):
            yield f"epoch {before.epoch} from {before.start_offset} is followed by {following}"
    if entries and entries[-1].start_offset > end:
        yield f"epoch {entries[-1].epoch} begins at {entries[-1].start_offset}, beyond the log's end {end}"
    if is_compacted:
        yield from misnamed(log.epochs, found.runs, start)
        return
    known = [(entry.epoch, entry.start_offset) for entry in entries if entry.start_offset < end]
    if known and known[0][1] < start:
        known[0] = (known[0][0], start)
    if known != found.starts(start, end):
        yield f"its epochs begin at {known}, those of its batches at {found.starts(start, end)}"


def misnamed(epochs: LeaderEpochs, runs: Iterable[EpochRun], log_start_offset: int) -> Iterator[str]:
    for run in runs:
        for offset in {run.first_offset, run.last_base_offset}:
            epoch = epochs.epoch_at(offset)
            if epoch != run.epoch and offset >= log_start_offset:
                yield f"the batch at {offset} is of epoch {run.epoch}, and said to be of {epoch}"
