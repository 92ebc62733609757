"""A shell for a shard: a log of bytes that commits when told, timers, a clock that stands still until told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.transactions.commands import Command
from strandline.transactions.decisions import Decision, TimerKey
from strandline.transactions.formats import decode_record, encode_record
from strandline.transactions.markers import Marker, MarkersWritten
from strandline.transactions.producer_ids import Block, ProducerIds, next_block
from strandline.transactions.records import Transaction, TransactionRecord
from strandline.transactions.replies import Reply
from strandline.transactions.settings import TransactionSettings
from strandline.transactions.shard import Cause, TransactionShard

R = TypeVar("R", bound=Reply)


Answer = Callable[[Reply], None]


class Held(NamedTuple):
    """What waits until so much of the log is committed."""

    log_end: int
    reply: Reply | None
    answer: Answer
    markers: tuple[Marker, ...]


def nobody(_reply: Reply) -> None:
    pass


class Shell:
    def __init__(self, settings: TransactionSettings | None = None, transaction_version: int = 2) -> None:
        self.settings = settings or TransactionSettings()
        self.transaction_version = transaction_version
        self.now_ms = 0
        self.log: list[tuple[bytes, bytes | None]] = []
        self.committed = 0
        self.commits_at_once = True
        self.append_error: ErrorCode | None = None  # what the log says to every append
        self.latest_block: Block | None = Block(0, 999)
        self.has_blocks = True
        self.coordinator_epoch = -1
        self.restart()

    def restart(self) -> Decision:
        """The coordinator anew, from the log alone."""
        self.coordinator_epoch += 1
        self.producer_ids = ProducerIds()
        self.timers: dict[TimerKey, int] = {}
        self.held: list[Held] = []
        self.replies: list[Reply] = []  # that have gone out
        self.sent: list[Marker] = []
        self._replenish()
        self.shard = TransactionShard(
            self.settings,
            self.producer_ids,
            coordinator_epoch=self.coordinator_epoch,
            transaction_version=self.transaction_version,
        )
        for key, value in self.log:
            record = decode_record(key, value)
            assert record is not None
            self.shard.apply(record)
        return self._carry_out(self.shard.loaded(self.now_ms), None)

    def _replenish(self) -> None:
        if self.has_blocks and self.producer_ids.wants_block(self.now_ms):
            self.producer_ids.requested()
            self.latest_block = next_block(self.latest_block)
            self.producer_ids.received(self.latest_block)

    def decide(self, command: Command, answer: Answer = nobody) -> Decision:
        decision = self._carry_out(self.shard.decide(command, self.now_ms), command, answer)
        self._replenish()
        return decision

    def ask(self, command: Command, expected: type[R]) -> R:
        reply = self.decide(command).reply
        assert isinstance(reply, expected), reply
        return reply

    def markers_written(self, event: MarkersWritten) -> Decision:
        return self._carry_out(self.shard.markers_written(event, self.now_ms), event)

    def write_markers(self, error_code: ErrorCode = ErrorCode.NONE) -> None:
        """Every marker that has gone out has this result."""
        while self.sent:
            self.markers_written(self.sent.pop(0).all_partitions(error_code))

    def put(self, transactional_id: str, transaction: Transaction) -> None:
        """A record of an earlier life; known after the next restart."""
        self.log.append(encode_record(TransactionRecord(transactional_id, transaction), self.transaction_version))
        self.committed = len(self.log)

    def stored(self, transactional_id: str) -> Transaction | None:
        """As the log has it."""
        found = None
        for key, value in self.log:
            record = decode_record(key, value)
            if record is not None and record.transactional_id == transactional_id:
                found = record.transaction
        return found

    def set_clock(self, now_ms: int) -> None:
        step_ms = now_ms - self.now_ms
        self.timers = {key: at_ms + step_ms for key, at_ms in self.timers.items()}
        self.now_ms = now_ms

    def advance(self, to_ms: int) -> Iterator[tuple[TimerKey, Decision]]:
        """Every timer up to then, in order."""
        while self.timers:
            key, at_ms = min(self.timers.items(), key=lambda item: (item[1], str(item[0])))
            if at_ms > to_ms:
                break
            self.now_ms = max(self.now_ms, at_ms)
            del self.timers[key]
            yield key, self._carry_out(self.shard.timer_fired(key, self.now_ms), key)
        self.now_ms = to_ms

    def pass_time(self, ms: int) -> list[TimerKey]:
        return [key for key, _ in self.advance(self.now_ms + ms)]

    def _carry_out(self, decision: Decision, cause: Cause | None, answer: Answer = nobody) -> Decision:
        if self.append_error is not None and decision.records:
            assert cause is not None
            decision = self.shard.not_appended(decision, cause, self.append_error, self.now_ms)
        for record in decision.records:
            self.log.append(encode_record(record, self.transaction_version))
            self.shard.apply(record)
        for timer in decision.timers:
            self.timers.pop(timer.key, None)
            if timer.at_ms is not None:
                self.timers[timer.key] = timer.at_ms
        self.held.append(Held(len(self.log), decision.reply, answer, decision.markers))
        if self.commits_at_once:
            self.commit(len(self.log))
        return decision

    def commit(self, log_end: int) -> None:
        self.committed = max(self.committed, log_end)
        ready = [held for held in self.held if held.log_end <= self.committed]
        self.held = [held for held in self.held if held.log_end > self.committed]
        self.sent += [marker for held in ready for marker in held.markers]
        for held in ready:
            if held.reply is not None:
                self.replies.append(held.reply)
                held.answer(held.reply)


def partitions(names: Iterable[str]) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(topic, int(index)) for topic, _, index in (name.rpartition("-") for name in names if name)
    )
