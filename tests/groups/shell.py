"""A shell for a shard: a log of bytes, timers, a clock that stands still until told, and requests that wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeVar
from uuid import UUID

from strandline.groups.commands import Command, TransactionalOffsetCommit
from strandline.groups.decisions import Decision, Ticket, TimerKey
from strandline.groups.draft import Topic
from strandline.groups.formats import decode_record, encode_record
from strandline.groups.offsets import NO_PRODUCER_ID
from strandline.groups.replies import Reply
from strandline.groups.settings import GroupSettings
from strandline.groups.shard import GroupShard
from strandline.model.failures import ErrorCode

R = TypeVar("R", bound=Reply)


class LogEntry(NamedTuple):
    key: bytes
    value: bytes | None
    producer_id: int


class Shell:
    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.now_ms = 0
        self.log: list[LogEntry | tuple[int, bool]] = []  # records, and ends of transactions
        self.topics: dict[str, Topic] = {}
        self.append_error: ErrorCode | None = None  # what the log says to every append
        self.restart()

    def restart(self) -> Decision:
        """The coordinator anew, from the log alone."""
        self.shard = GroupShard(self.settings)
        self.timers: dict[TimerKey, int] = {}
        self.parked: set[Ticket] = set()
        self.answers: dict[Ticket, Reply] = {}
        self.shard.topics_changed(dict(self.topics))
        for offset, entry in enumerate(self.log):
            self._apply(offset, entry)
        return self._carry_out(self.shard.loaded(self.now_ms), TimerKey, NO_PRODUCER_ID)

    def _apply(self, offset: int, entry: LogEntry | tuple[int, bool]) -> None:
        if not isinstance(entry, LogEntry):
            self.shard.transaction_ended(entry[0], committed=entry[1])
            return
        record = decode_record(entry.key, entry.value)
        assert record is not None
        self.shard.apply(record, offset, entry.producer_id)

    def set_topics(self, **partitions: int) -> None:
        self.topics = {name: Topic(UUID(int=self._topic_number(name)), count) for name, count in partitions.items()}
        self.shard.topics_changed(dict(self.topics))

    def _topic_number(self, name: str) -> int:
        return int.from_bytes(name.encode()[:12], "big")

    def decide(self, command: Command) -> Decision:
        producer_id = command.producer_id if isinstance(command, TransactionalOffsetCommit) else NO_PRODUCER_ID
        return self._carry_out(self.shard.decide(command, self.now_ms), command, producer_id)

    def ask(self, command: Command, expected: type[R]) -> R:
        """The reply to what is answered at once."""
        reply = self.decide(command).reply
        assert isinstance(reply, expected), reply
        return reply

    def wait(self, command: Command) -> Ticket:
        """The ticket of what is not."""
        ticket = self.decide(command).ticket
        assert ticket is not None
        return ticket

    def answer(self, ticket: Ticket, expected: type[R]) -> R:
        reply = self.answers[ticket]
        assert isinstance(reply, expected), reply
        return reply

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        self.log.append((producer_id, committed))
        self.shard.transaction_ended(producer_id, committed=committed)

    def advance(self, to_ms: int) -> Iterator[tuple[TimerKey, Decision]]:
        """Every timer up to then, in order."""
        while self.timers:
            key, at_ms = min(self.timers.items(), key=lambda item: (item[1], str(item[0])))
            if at_ms > to_ms:
                break
            self.now_ms = max(self.now_ms, at_ms)
            del self.timers[key]
            yield key, self._carry_out(self.shard.timer_fired(key, self.now_ms), key, NO_PRODUCER_ID)
        self.now_ms = to_ms

    def pass_time(self, ms: int) -> list[TimerKey]:
        return [key for key, _ in self.advance(self.now_ms + ms)]

    def _carry_out(self, decision: Decision, cause: Command | TimerKey | type[TimerKey], producer_id: int) -> Decision:
        if self.append_error is not None and decision.records and not isinstance(cause, type):
            decision = self.shard.not_appended(decision, cause, self.append_error, self.now_ms)
        for record in decision.records:
            entry = LogEntry(*encode_record(record), producer_id)
            assert decode_record(entry.key, entry.value) == record
            self._apply(len(self.log), entry)
            self.log.append(entry)
        for timer in decision.timers:
            self.timers.pop(timer.key, None)
            if timer.at_ms is not None:
                self.timers[timer.key] = timer.at_ms
        assert (decision.ticket is None) or decision.reply is None
        if decision.ticket is not None:
            self.parked.add(decision.ticket)
        for ticket, reply in decision.released:
            self.parked.remove(ticket)
            self.answers[ticket] = reply
        return decision
