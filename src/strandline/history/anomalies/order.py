"""Order: what one consumer reads rises without a gap, what one producer sends rises."""

from __future__ import annotations

from collections.abc import Iterator

from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import Outcome, Send, TimedOperation
from strandline.history.partition_log import Stretch
from strandline.history.reading import Break
from strandline.history.verdict import Anomaly, Kind
from strandline.model.partitions import TopicPartition

SHOWN_MAX = 5  # offsets and values of a gap that are told


def poll_skips(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """A consumer went on past records that it must have seen (int-: within a poll or a transaction).

    Excused by a group whose rebalances nobody noted, and by retention and compaction.
    """
    for gap, skipped in gaps(history):
        log = history.log(gap.partition)
        shown = skipped.first(SHOWN_MAX)
        values = tuple(log.claims[offset].value for offset in shown)
        yield Anomaly(
            Kind.INTERNAL_POLL_SKIP if gap.is_internal else Kind.POLL_SKIP,
            not gap.is_excused and not expectations.may_delete_from(gap.partition.topic),
            f"{gap.poll.process} was at offset {gap.expected} of {gap.partition} and went on at {gap.offset}, past"
            f" {_list(shown, len(skipped))} ({', '.join(map(repr, values))})",
            gap.partition,
            tuple(shown),
            values,
            (gap.poll.process,),
            tuple(dict.fromkeys((gap.before.number, gap.poll.number))),
        )


def nonmonotonic_polls(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """A consumer went back, and nothing told it to. Excused by a group whose rebalances nobody noted."""
    for back in history.breaks:
        if back.offset < back.expected:
            yield Anomaly(
                Kind.INTERNAL_NONMONOTONIC_POLL if back.is_internal else Kind.NONMONOTONIC_POLL,
                not back.is_excused,
                f"{back.poll.process} was at offset {back.expected} of {back.partition} and went back to {back.offset}",
                back.partition,
                (back.expected, back.offset),
                (),
                (back.poll.process,),
                tuple(dict.fromkeys((back.before.number, back.poll.number))),
            )


def nonmonotonic_sends(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """A later record of a producer lies before an earlier one. One that is not idempotent may overtake itself."""
    for earlier, later, was, offset in _successive_sends(history):
        if offset <= was:
            assert later.partition is not None
            is_internal = later.transaction is not None and later.transaction == earlier.transaction
            yield Anomaly(
                Kind.INTERNAL_NONMONOTONIC_SEND if is_internal else Kind.NONMONOTONIC_SEND,
                history.lives.client(later).is_idempotent,
                f"{later.process} sent {earlier.value!r} and then {later.value!r} to {later.partition}, where they"
                f" have offsets {was} and {offset}",
                later.partition,
                (was, offset),
                (earlier.value, later.value),
                (later.process,),
                (earlier.number, later.number),
            )


def internal_send_skips(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """Between two records of a transaction lies one of somebody else: as it should be, Kafka isolates no writes."""
    for earlier, later, was, offset in _successive_sends(history):
        if later.transaction is None or later.transaction != earlier.transaction or later.partition is None:
            continue
        others = history.log(later.partition).between(was + 1, offset, later, is_committed=False)
        shown = others.first(SHOWN_MAX)
        if shown:
            yield Anomaly(
                Kind.INTERNAL_SEND_SKIP,
                False,
                f"between {earlier.value!r} and {later.value!r} of transaction {later.transaction} others wrote to"
                f" {later.partition}: {_list(shown, len(others))}",
                later.partition,
                tuple(shown),
                (earlier.value, later.value),
                (later.process,),
                (earlier.number, later.number),
            )


def gaps(history: History) -> Iterator[tuple[Break, Stretch]]:
    """Where a consumer went on past records, and past which."""
    for gap in history.breaks:
        if gap.offset > gap.expected:
            is_committed = history.lives.reads_committed(gap.poll)
            skipped = history.log(gap.partition).between(gap.expected, gap.offset, gap.poll, is_committed=is_committed)
            if skipped:
                yield gap, skipped


def _successive_sends(history: History) -> Iterator[tuple[Send, Send, int, int]]:
    """Two sends of one process to one partition, one after the other, with the offsets they are known to have.

    What it sent before it was started again may come later: it is another producer now.
    """
    for operations in history.processes.values():
        last: dict[TopicPartition, tuple[Send, int]] = {}
        life = 0
        for send in operations:
            offset = _place(history, send)
            if offset is None or not isinstance(send, Send) or send.partition is None:
                continue
            if history.lives.number(send) != life:
                life, last = history.lives.number(send), {}
            if send.partition in last:
                earlier, was = last[send.partition]
                yield earlier, send, was, offset
            last[send.partition] = send, offset


def _place(history: History, operation: TimedOperation) -> int | None:
    if not isinstance(operation, Send) or operation.outcome is Outcome.FAIL or operation.partition is None:
        return None
    if operation.offset is not None or history.writer(operation.topic, operation.value) is None:
        return operation.offset
    return history.log(operation.partition).place_of.get(operation.value)


def _list(offsets: list[int], count: int) -> str:
    told = ", ".join(map(str, offsets))
    return told if count == len(offsets) else f"{told} and {count - len(offsets)} more"
