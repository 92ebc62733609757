"""What a log knows of producers, against a replay of its batches.

The replay has rules so few that they can be seen to be right. Only what is new is looked at; a log that was read as a
whole, after a start, a truncation, a cleaning or a deletion, is new as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from strandline.log.log import Log
from strandline.log.producer_entry import BATCHES_REMEMBERED, SEQUENCE_MAX, ProducerEntry
from strandline.records.batch import NO_SEQUENCE
from strandline.simulation.observed import Batch, Kind, PartitionTruth, Replica

MARKERS = frozenset({Kind.ABORT_MARKER, Kind.COMMIT_MARKER})


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
            producer.appended += is_appended and batch.kind not in MARKERS
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
