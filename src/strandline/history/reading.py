"""How the polls of a consumer follow each other.

From a position that is known, a consumer reads record after record. A new assignment or a seek gives it another
position; one that nobody noted is learnt from the first record that it reads there. Where the next record is not the
expected one there is a `Break`; whether it matters depends on what lies between.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple, TypeAlias

from strandline.history.lives import Lives
from strandline.history.operations import BEGINNING, Assign, How, Outcome, Poll, Revoke, TimedOperation
from strandline.history.partition_log import PartitionLog
from strandline.model.partitions import TopicPartition

Logs: TypeAlias = dict[TopicPartition, PartitionLog]


class Break(NamedTuple):
    before: Poll | Assign  # what gave the position
    poll: Poll
    partition: TopicPartition
    expected: int
    offset: int
    is_internal: bool  # within one poll or one transaction
    is_excused: bool  # a group may have moved the consumer, and nobody noted it


class Start(NamedTuple):
    """A group gave a partition to a consumer, which began to read here."""

    assign: Assign
    partition: TopicPartition
    offset: int
    known_us: int  # when the consumer knew


class Look(NamedTuple):
    """The last poll of a consumer that had a partition, and it brought nothing."""

    assign: Assign | None
    partition: TopicPartition
    position: int
    poll: Poll


class Reading(NamedTuple):
    """A transaction read from a partition, where its consumer had been told to go."""

    poll: int  # the number of its line
    partition: TopicPartition


class _Place:
    """Where a consumer is in one partition."""

    __slots__ = ("assign", "before", "expected", "first", "last", "told")

    def __init__(self, assign: Assign | None = None, first: int | None = None, told: int | None = None) -> None:
        self.assign = assign
        self.told = told  # the position that was asked for, if one was
        self.before: Poll | Assign | None = assign
        self.expected = first
        self.first = first
        self.last = -1


class ConsumerWalk:
    def __init__(self, logs: Logs, lives: Lives) -> None:
        self._logs = logs
        self._lives = lives
        self.breaks: list[Break] = []
        self.starts: list[Start] = []
        self.looks: list[Look] = []
        self.sought: dict[Reading, Assign] = {}
        self._in_vain: Poll | None = None  # the last poll of the process that brought nothing

    def walk(self, operations: Iterable[TimedOperation]) -> None:
        """Those of one process, in its order. Who is started again has no partitions until it is given some."""
        consumed = (each for each in operations if isinstance(each, Poll | Assign | Revoke))
        for _, life in groupby(consumed, self._lives.number):
            self._live(life)

    def _live(self, operations: Iterable[Poll | Assign | Revoke]) -> None:
        places: dict[TopicPartition, _Place] = {}
        is_excused = False
        self._in_vain = None
        for operation in operations:
            if operation.outcome is Outcome.FAIL:
                continue
            match operation:
                case Poll() if operation.records:
                    self._in_vain = None  # it had not come to its end: not of any of its partitions, for all we know
                    self._poll(operation, places, is_excused)
                case Poll():
                    is_sure = operation.outcome is Outcome.OK and not is_excused
                    self._in_vain = operation if is_sure else None
                case Assign():
                    is_excused = operation.how is How.SUBSCRIBE or (is_excused and not _leaves_group(operation))
                    self._assign(operation, places)
                case Revoke():
                    for partition in list(places) if operation.partitions is None else operation.partitions:
                        self._leave(partition, places)
        for partition in list(places):
            self._leave(partition, places)

    def _assign(self, assign: Assign, places: dict[TopicPartition, _Place]) -> None:
        for partition, position in assign.positions:
            self._leave(partition, places)
            first = _first_offset(position) if assign.outcome is Outcome.OK else None
            places[partition] = _Place(assign, first, position)
            if assign.how is How.REBALANCE and first is not None:
                self.starts.append(Start(assign, partition, first, assign.ended_us))

    def _leave(self, partition: TopicPartition, places: dict[TopicPartition, _Place]) -> None:
        place = places.pop(partition, None)
        if place is not None:
            self._look(partition, place)
            self._pass(partition, place)

    def _pass(self, partition: TopicPartition, place: _Place) -> None:
        """Where records were deleted on purpose, that was noted with each poll: it may have come before or after."""
        log = self._logs.get(partition)
        if log is not None and not log.trims and place.first is not None and place.last >= place.first:
            log.passed(place.first, place.last)

    def _look(self, partition: TopicPartition, place: _Place) -> None:
        poll, before = self._in_vain, place.before
        is_last = poll is not None and before is not None and _order(before) < _order(poll)
        is_last = is_last and poll is not None and not self._is_deleted(place, partition, poll)
        if poll is not None and is_last and place.expected is not None:
            self.looks.append(Look(place.assign, partition, place.expected, poll))

    def _poll(self, poll: Poll, places: dict[TopicPartition, _Place], is_excused: bool) -> None:
        for partition, offset, _ in poll.records:
            place = places.get(partition)
            if place is None:
                place = places[partition] = _Place()
            if place.expected is None:
                self._begin(place, poll, partition, offset)
            elif offset > place.expected and place.before is not poll and self._is_deleted(place, partition, poll):
                self._reset(place, partition, offset)
            elif offset != place.expected:
                self._break(place, poll, partition, offset, is_excused)
            if poll.transaction is not None and place.told is not None and place.assign is not None:
                self._note_sought(place.assign, poll, partition)
            place.expected, place.before = offset + 1, poll
            if offset > place.last:
                place.last = offset
        self._note_passed(poll, places)

    def _note_passed(self, poll: Poll, places: dict[TopicPartition, _Place]) -> None:
        for partition in {record.partition for record in poll.records}:
            log, place = self._logs[partition], places[partition]
            if log.trims and place.first is not None:
                log.passed_by(poll, place.first, place.last)

    def _note_sought(self, assign: Assign, poll: Poll, partition: TopicPartition) -> None:
        if assign.how in (How.SEEK, How.ASSIGN):
            self.sought[Reading(poll.number, partition)] = assign

    def _begin(self, place: _Place, poll: Poll, partition: TopicPartition, offset: int) -> None:
        place.first = offset
        assign = place.assign
        if assign is not None and assign.how is How.REBALANCE and assign.outcome is Outcome.OK:
            self.starts.append(Start(assign, partition, offset, poll.ended_us))

    def _is_deleted(self, place: _Place, partition: TopicPartition, poll: Poll) -> bool:
        """What it was to read next, by then: `auto.offset.reset` may have led it anywhere, but for who is at the
        beginning."""
        log = self._logs.get(partition)
        is_at_beginning = isinstance(place.before, Assign) and place.told == BEGINNING
        return log is not None and (place.expected or 0) < log.trims.offset_by(poll) and not is_at_beginning

    def _reset(self, place: _Place, partition: TopicPartition, offset: int) -> None:
        self._pass(partition, place)
        place.first, place.last = offset, offset

    def _break(self, place: _Place, poll: Poll, partition: TopicPartition, offset: int, is_excused: bool) -> None:
        before, expected = place.before, place.expected
        assert before is not None
        assert expected is not None
        is_excused = is_excused and before is not poll  # a group moves nobody amid one poll
        is_internal = before is poll or (
            isinstance(before, Poll) and poll.transaction is not None and poll.transaction == before.transaction
        )
        self.breaks.append(Break(before, poll, partition, expected, offset, is_internal, is_excused))
        if is_excused:  # it may have read on from here after a pause: what lies between was not passed
            self._reset(place, partition, offset)
        elif place.first is not None and offset < place.first:
            place.first = offset


def _leaves_group(assign: Assign) -> bool:
    """Or is told from now on what its group gives."""
    return assign.how is not How.SEEK and assign.outcome is Outcome.OK


def _first_offset(position: int | None) -> int | None:
    return 0 if position == BEGINNING else position if position is not None and position >= 0 else None


def _order(operation: Poll | Assign) -> tuple[int, int]:
    return operation.began_us, operation.number
