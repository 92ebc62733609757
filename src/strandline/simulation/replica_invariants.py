"""What must be true of each replica at every moment: what its log keeps beside its batches is what they say.

Leader epochs and producers are derived. Here they are derived once more, from the batches that the observer has read,
by rules so few that they can be seen to be right. Only what is new is looked at; a log that was read as a whole, after
a start, a truncation, a cleaning or a deletion, is new as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple, Protocol

from strandline.log.leader_epochs import LeaderEpochs
from strandline.log.log import Log
from strandline.log.producer_entry import BATCHES_REMEMBERED, SEQUENCE_MAX, ProducerEntry
from strandline.records.batch import NO_SEQUENCE
from strandline.simulation.observed import Batch, Kind, PartitionTruth, Replica

MARKERS = frozenset({Kind.ABORT_MARKER, Kind.COMMIT_MARKER})


class ReplicaInvariant(Protocol):
    """Looks at one replica, after a step that changed something about it."""

    name: str

    def check(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]: ...


class FlushedIsThere:
    """Nothing counts as flushed beyond the end of its log (KAFKA-10101)."""

    name = "FlushedIsThere"

    def check(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]:  # noqa: ARG002
        log = replica.log
        if log is not None and log.recovery_point > log.log_end_offset and replica.readable_log is log:
            yield f"{replica.broker_id} has flushed up to {log.recovery_point}, and ends at {log.log_end_offset}"


class EnoughToCommit:
    """A leader with fewer in sync than `min.insync.replicas` commits nothing (KIP-966). Whoever was so before a step
    and is so after it was so all the time: one step brings no more than one answer of the store."""

    name = "EnoughToCommit"

    def __init__(self) -> None:
        self._under: dict[Replica, tuple[int, int]] = {}  # the epoch and the high watermark of those who have too few

    def check(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]:  # noqa: ARG002
        before = self._under.pop(replica, None)
        if replica.leads_in is None or not replica.is_under_min_isr:
            return
        self._under[replica] = (replica.leads_in, replica.counted_watermark)
        if before is not None and before[0] == replica.leads_in and before[1] < replica.counted_watermark:
            yield (
                f"leader {replica.broker_id} has too few in sync, {replica.isr}, and its high watermark goes from"
                f" {before[1]} to {replica.counted_watermark}"
            )


# Leader epochs.


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


# Producers.


class Written(NamedTuple):
    """A batch as its producer knows it."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int


class Replayed:
    """One producer, as the batches say that were read."""

    __slots__ = ("appended", "batches", "epoch")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: list[Written] = []  # the last of this epoch
        self.appended = 0  # while the log was open, so that it must know these

    def take(self, batch: Batch) -> None:
        if batch.producer_epoch != self.epoch:
            self.epoch, self.batches = batch.producer_epoch, []
        if batch.kind in MARKERS:
            return
        first, last = sequences_of(batch)
        if self.batches and 0 <= first <= self.batches[-1].last_sequence and first != follows(self.batches[-1]):
            self.batches = []  # it was forgotten in between, and has begun anew
        written = Written(first, last, batch.base_offset, batch.last_offset)
        self.batches = [*self.batches[1 - BATCHES_REMEMBERED :], written]


def sequences_of(batch: Batch) -> tuple[int, int]:
    first = batch.base_sequence
    if first == NO_SEQUENCE:
        return NO_SEQUENCE, NO_SEQUENCE
    return first, (first + batch.last_offset - batch.base_offset) & SEQUENCE_MAX


def follows(written: Written) -> int:
    return (written.last_sequence + 1) & SEQUENCE_MAX


class Replay:
    """Of all producers in what was read of a log, from `start_offset` on."""

    def __init__(self, batches: dict[int, Batch], start_offset: int) -> None:
        self.batches = batches
        self.start_offset = start_offset
        self.producers: dict[int, Replayed] = {}

    def take(self, news: Iterable[Batch], *, is_appended: bool) -> dict[int, None]:
        """The producers of these batches."""
        touched: dict[int, None] = {}
        for batch in news:
            producer_id = batch.producer_id
            if producer_id < 0:
                continue
            if batch.kind is Kind.EMPTIED:  # a leader had compacted it: nobody sees whether it was a marker
                self._begin_anew_after(batch)
                touched.clear()
                continue
            producer = self.producers.get(producer_id)
            if producer is None:
                producer = self.producers[producer_id] = Replayed(batch.producer_epoch)
            producer.take(batch)
            producer.appended += is_appended
            touched[producer_id] = None
        return touched

    def _begin_anew_after(self, batch: Batch) -> None:
        self.start_offset = batch.last_offset + 1
        self.producers.clear()


class ProducersAreTrue:
    """What a log knows of its producers is what a replay of its batches comes to: epoch, sequences and offsets of the
    last batches, five at the most.

    It may know less: a snapshot has the last batch alone, so after a start or a truncation only the last must be
    known, and from then on each that is appended. It may know more: what was deleted, or compacted away, before this
    reading began. A producer is forgotten after a day (`producer.id.expiration.ms`), which no run lasts."""

    name = "ProducersAreTrue"

    def __init__(self) -> None:
        self._replays: dict[Replica, Replay] = {}

    def check(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]:
        replay, news = self._replays.get(replica), replica.news
        is_new = replay is None or replay.batches is not replica.batches
        if not news and not is_new:
            return
        if replay is None or is_new:
            if truth.is_compacted:
                news = []  # what is left does not tell what there was
            start_offset = news[0].base_offset if news else replica.log_end_offset
            replay = self._replays[replica] = Replay(replica.batches, start_offset)
        touched = replay.take(news, is_appended=not is_new)
        log = replica.readable_log
        if log is None:
            return
        for producer_id in touched:
            entry = log.producers.entry_of(producer_id)
            yield from complaints_about_producer(replica, replay, producer_id, entry)
        if is_new:
            yield from strangers(replica, replay, log)


def complaints_about_producer(
    replica: Replica, replay: Replay, producer_id: int, entry: ProducerEntry | None
) -> Iterator[str]:
    producer = replay.producers[producer_id]
    if entry is None:
        yield f"{replica.broker_id} does not know producer {producer_id}, of which it has {producer.batches}"
        return
    if entry.producer_epoch != producer.epoch:
        yield (
            f"{replica.broker_id} knows producer {producer_id} with epoch {entry.producer_epoch}, and the last in its"
            f" log is {producer.epoch}"
        )
    known = [Written(*batch[:4]) for batch in entry.batches if batch.first_offset >= replay.start_offset]
    unknown = len(producer.batches) - len(known)
    may_be_unknown = max(0, min(len(producer.batches) - 1, len(producer.batches) - producer.appended))
    if not 0 <= unknown <= may_be_unknown or known != producer.batches[unknown:]:
        yield f"{replica.broker_id} knows of producer {producer_id} {known}, and its log has {producer.batches}"
    if len(entry.batches) > BATCHES_REMEMBERED:
        yield f"{replica.broker_id} remembers {len(entry.batches)} batches of producer {producer_id}"


def strangers(replica: Replica, replay: Replay, log: Log) -> Iterator[str]:
    """Who is known by what is not in the log."""
    for entry in log.producers.entries():
        last = entry.last_batch
        if last is not None and last.first_offset >= replay.start_offset and entry.producer_id not in replay.producers:
            yield f"{replica.broker_id} knows {last} of producer {entry.producer_id}, which is not in its log"


REPLICA_INVARIANTS = (EnoughToCommit, FlushedIsThere, EpochsAreTrue, ProducersAreTrue)
