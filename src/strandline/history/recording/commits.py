"""Commits of a consumer, as they are asked for and as they are answered.

Each is in the file before the client hears of it, and once more with what came of it. Whoever is killed in between
leaves behind what may have come to count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from strandline.history.operations import Outcome
from strandline.history.recording.journal import Journal
from strandline.history.recording.outcomes import outcome_of_refused_commit

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, TopicPartition

ASYNC_COMMITS_MAX = 1000  # under way at a time; of more, the oldest are told as unknown

Offsets = list[list[Any]]


class Commit(NamedTuple):
    began_us: int
    offsets: Offsets
    is_of_all_read: bool  # the client reads its positions when it gets to it


class Commits:
    def __init__(self, journal: Journal, group: str) -> None:
        self._journal = journal
        self._group = group
        self._under_way: deque[Commit] = deque()  # those that nobody waits for

    def ask(self, offsets: Offsets, *, is_of_all_read: bool) -> Commit:
        commit = Commit(self._journal.now_us(), offsets, is_of_all_read)
        self._write(Outcome.ASKED, commit.began_us, offsets, commit.began_us, is_urgent=True)
        return commit

    def read_on(self, offsets: Offsets) -> None:
        """Who asked for all that was read may commit what was read since, too."""
        for commit in self._under_way:
            if commit.is_of_all_read:
                self._write(Outcome.ASKED, commit.began_us, offsets, commit.began_us, is_urgent=False)

    def goes_on(self, commit: Commit) -> None:
        """Its answer comes with a later call."""
        self._under_way.append(commit)
        if len(self._under_way) > ASYNC_COMMITS_MAX:
            self._end(self._under_way.popleft(), Outcome.UNKNOWN)

    def answered_next(self, error: KafkaError | None, partitions: Sequence[TopicPartition]) -> None:
        """The oldest of those under way, if there is one."""
        if self._under_way:
            commit = self._under_way.popleft()
            said = {(each.topic, each.partition): each.offset for each in partitions if each.offset >= 0}
            meant = {(topic, partition): offset for topic, partition, offset in commit.offsets}
            commit = commit._replace(offsets=[[*place, offset] for place, offset in {**meant, **said}.items()])
            if error is None:
                self.answered(commit, partitions)
            else:
                self.refused(commit, error)

    def answered(self, commit: Commit, partitions: Sequence[TopicPartition]) -> None:
        done = [
            [each.topic, each.partition, each.offset] for each in partitions if each.error is None and each.offset >= 0
        ]
        refused = {(each.topic, each.partition) for each in partitions if each.error is not None}
        doubtful = [each for each in commit.offsets if (each[0], each[1]) in refused]
        ended_us = self._journal.now_us()
        # With one stroke: who is killed between the two would have left half of the answer.
        self._write(Outcome.UNKNOWN, commit.began_us, doubtful, ended_us, is_urgent=not done)
        self._write(Outcome.OK, commit.began_us, done, ended_us, is_urgent=True)

    def refused(self, commit: Commit, error: KafkaError) -> None:
        """Mostly that is unknown: it may have been the second attempt."""
        self._end(commit, outcome_of_refused_commit(error.code()))

    def was_not_made(self, commit: Commit) -> None:
        self._end(commit, Outcome.FAIL)

    def close(self) -> None:
        """Nobody will answer any more."""
        while self._under_way:
            self._end(self._under_way.popleft(), Outcome.UNKNOWN)

    def _end(self, commit: Commit, outcome: Outcome) -> None:
        self._write(outcome, commit.began_us, commit.offsets, self._journal.now_us(), is_urgent=True)

    def _write(self, outcome: Outcome, began_us: int, offsets: Offsets, ended_us: int, *, is_urgent: bool) -> None:
        if offsets:
            self._journal.write(
                "commit",
                outcome=outcome.value,
                began_us=began_us,
                ended_us=ended_us,
                group=self._group,
                offsets=offsets,
                is_urgent=is_urgent,
            )
