"""What a leader may answer to whoever asks for an offset: where the log begins, where it ends, or what came first since
a time.

It is compared with what was true when it was asked and when the answer was heard. Between the two records are committed
and old ones deleted, so there is a least and a greatest answer; where nothing happens they are the same.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from strandline.client.offsets import EARLIEST, LATEST, NONE_FOUND
from strandline.model.partitions import TopicPartition
from strandline.simulation.consumers import READ_COMMITTED
from strandline.simulation.observed import Batch, PartitionTruth
from strandline.simulation.written_load import Written
from strandline.wire.messages.list_offsets import ListOffsetsPartitionResponse

Complaint = tuple[str, str]  # the invariant, and what is wrong


class Question(NamedTuple):
    partition: TopicPartition
    timestamp: int
    isolation_level: int

    def __str__(self) -> str:
        what = {EARLIEST: "where it begins", LATEST: "where it ends"}.get(
            self.timestamp, f"what is of {self.timestamp}"
        )
        return f"{self.partition}, {what}" + (" for read_committed" if self.isolation_level == READ_COMMITTED else "")


class Shown(NamedTuple):
    """What a leader of the newest epoch has to show of a partition at some moment."""

    leader_epoch: int
    start: int
    end: int  # of what is committed, as far as the isolation level lets it be read


class Times:
    """The timestamps of what is committed in a partition, whose producers keep what they write."""

    def __init__(self, written: Written) -> None:
        self._written = written
        self._followed = 0
        self._offsets: list[int] = []
        self._timestamps: list[int] = []

    def follow(self, truth: PartitionTruth) -> None:
        followed, self._followed = self._followed, len(truth.committed)
        for batch in truth.committed[followed:]:
            for index, record in enumerate(self._written[batch.crc]):
                self._offsets.append(batch.base_offset + index)
                self._timestamps.append(record.timestamp)

    def at(self, offset: int) -> int | None:
        place = bisect_left(self._offsets, offset)
        is_there = place < len(self._offsets) and self._offsets[place] == offset
        return self._timestamps[place] if is_there else None

    def first_since(self, timestamp: int, start: int, end: int) -> int | None:
        """The offset of the first record of that time or a later one, from `start` on and before `end`."""
        for place in range(bisect_left(self._offsets, start), len(self._offsets)):
            if self._offsets[place] >= end:
                return None
            if self._timestamps[place] >= timestamp:
                return self._offsets[place]
        return None


def batch_with(truth: PartitionTruth, offset: int) -> Batch | None:
    """The committed batch that has it."""
    place = bisect_left(truth.committed, offset, key=lambda batch: batch.last_offset)
    found = truth.committed[place] if place < len(truth.committed) else None
    return found if found is not None and found.base_offset <= offset else None


def complaints_about_answer(
    question: Question,
    asked: Shown,
    heard: Shown,
    truth: PartitionTruth,
    times: Times,
    found: ListOffsetsPartitionResponse,
) -> Iterator[Complaint]:
    """Of the same leader in the same epoch, when it was asked and when its answer was heard."""
    said = f"{question}: {found.offset} of epoch {found.leader_epoch} is said"
    if question.timestamp == LATEST:
        if not asked.end <= found.offset <= heard.end:
            yield "LatestGoesUp", f"{said}, and it was {_between(asked.end, heard.end)}"
        if found.leader_epoch != asked.leader_epoch:
            yield "LatestGoesUp", f"{said}, by the leader of epoch {asked.leader_epoch}"
        return
    invariant = "EarliestIsTheStart" if question.timestamp == EARLIEST else "FirstOfItsTime"
    if question.timestamp != EARLIEST:
        for sentence in _complaints_about_time(question.timestamp, asked, heard, times, found):
            yield invariant, f"{said}, {sentence}"
    elif not asked.start <= found.offset <= min(heard.start, heard.end):
        yield invariant, f"{said}, and it was {_between(asked.start, heard.start)}"
    # Of what compaction has left of a log a leader may not know in which epoch it began, in Kafka too.
    batch = None if truth.is_compacted else batch_with(truth, found.offset)
    if batch is not None and batch.leader_epoch != found.leader_epoch:
        yield invariant, f"{said}, and there is {batch}"


def _complaints_about_time(
    timestamp: int, asked: Shown, heard: Shown, times: Times, found: ListOffsetsPartitionResponse
) -> Iterator[str]:
    if found.offset == NONE_FOUND:
        there = times.first_since(timestamp, heard.start, asked.end)
        if there is not None:
            yield f"and {there} is of {times.at(there)}"
        return
    at = times.at(found.offset)
    first = times.first_since(timestamp, asked.start, heard.end)
    last = times.first_since(timestamp, heard.start, heard.end)
    is_first = first is not None and first <= found.offset and (last is None or found.offset <= last)
    if at is None or at < timestamp or not is_first:
        yield f"which is of {at}, and the first is {first}"
    elif found.timestamp != at:
        yield f"as of {found.timestamp}, which is of {at}"


def _between(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} when it was asked, and {most} when it was heard"
