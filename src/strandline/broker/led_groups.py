"""The groups of one partition of `__consumer_offsets` that this broker leads: a shard, and what it decides, done.

What is to be done with a decision, and in which order, is the contract of `groups.decisions`. Two things here are about
time. A request is answered only when everything appended so far is committed: a partition with one replica has
committed what it has appended, and the answer goes out at once. And a timer that is due is due, whatever the wall clock
says by then: if that was set back meanwhile, a session must still end (KAFKA-8803).

A partition that is no longer led is dropped with its shard. Whoever waited is sent to look for the new coordinator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from strandline.broker.commit_queue import CommitQueue
from strandline.broker.group_batches import encode_batches, encode_in_transaction
from strandline.broker.host import Host
from strandline.broker.host import Timer as RunningTimer
from strandline.broker.partition import Partition
from strandline.groups.commands import Command, PartitionsDeleted, RefusableCommand, TransactionalOffsetCommit
from strandline.groups.decisions import Decision, Ticket, Timer, TimerKey
from strandline.groups.draft import Topic
from strandline.groups.offsets import NO_PRODUCER_ID
from strandline.groups.replies import Reply
from strandline.groups.settings import GroupSettings
from strandline.groups.shard import GroupShard
from strandline.model.coordinators import client_error
from strandline.model.failures import ErrorCode, Refused, StorageFailed, check
from strandline.replication.leader import ACKS_ALL

logger = logging.getLogger(__name__)

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R", bound=Reply)


class Asking(Protocol[R_co]):
    """A command, by the kind of reply it gets."""

    def refused(self, refusal: Refused) -> R_co: ...


class Stage(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    OVER = "over"  # resigned, or could not be loaded


class Asked(NamedTuple):
    """Somebody who waits for a reply."""

    command: RefusableCommand
    answer: Callable[[Any], object]

    def refuse(self, refusal: Refused) -> None:
        self.answer(self.command.refused(refusal))


class LedGroups:
    def __init__(self, partition: Partition, settings: GroupSettings, host: Host, commit_timeout_ms: int) -> None:
        self.partition = partition
        self.shard = GroupShard(settings)
        self.stage = Stage.LOADING
        self._host = host
        self._uncommitted = CommitQueue(partition, host, commit_timeout_ms)
        self._timers: dict[TimerKey, RunningTimer] = {}
        self._tickets: dict[Ticket, Asked] = {}
        self._news: list[PartitionsDeleted] = []  # while it is loaded

    # Life.

    def loaded(self, settings: GroupSettings, topics: Mapping[str, Topic]) -> None:
        """Every record of the log is applied: requests may come."""
        self.stage = Stage.ACTIVE
        self.settings_changed(settings)
        self.topics_changed(topics)
        now_ms = self._host.now_ms()
        decision = self.shard.loaded(now_ms)
        check(not decision.records, "loading writes nothing")
        self._carry_out(decision, None, now_ms)
        news, self._news = self._news, []
        for deleted in news:
            self.partitions_deleted(deleted)

    def could_not_load(self) -> None:
        self.stage = Stage.OVER

    def resign(self) -> None:
        """For good: the next leadership has a new shard."""
        was_active, self.stage = self.stage is Stage.ACTIVE, Stage.OVER
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._uncommitted.abandon(Refused(ErrorCode.NOT_COORDINATOR, "another broker may lead these groups now"))
        if was_active:
            for ticket, reply in self.shard.resigned(self._host.now_ms()).released:
                self._tickets.pop(ticket).answer(reply)

    # News.

    def settings_changed(self, settings: GroupSettings) -> None:
        if self.stage is Stage.ACTIVE:
            self.shard.settings_changed(settings)

    def topics_changed(self, topics: Mapping[str, Topic]) -> None:
        if self.stage is Stage.ACTIVE:
            self.shard.topics_changed(topics)

    def partitions_deleted(self, deleted: PartitionsDeleted) -> None:
        if self.stage is Stage.LOADING:
            self._news.append(deleted)
        elif self.stage is Stage.ACTIVE:
            now_ms = self._host.now_ms()
            self._carry_out(self.shard.decide(deleted, now_ms), deleted, now_ms)

    def transaction_ended(self, producer_id: int, *, committed: bool) -> None:
        """Its marker is in the log: the offsets that it committed count, or are forgotten."""
        self.shard.transaction_ended(producer_id, committed=committed)

    # Requests.

    def ask(self, command: Asking[R], answer: Callable[[R], object]) -> None:
        """`answer` is called once, now or later."""
        asked = Asked(cast(RefusableCommand, command), answer)
        if self.stage is Stage.ACTIVE:
            now_ms = self._host.now_ms()
            self._carry_out(self.shard.decide(asked.command, now_ms), asked.command, now_ms, asked)
        elif self.stage is Stage.LOADING:
            asked.refuse(Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the groups are being loaded"))
        else:
            asked.refuse(Refused(ErrorCode.NOT_COORDINATOR, "this broker does not serve the group"))

    def _carry_out(
        self, decision: Decision, cause: Command | TimerKey | None, now_ms: int, asked: Asked | None = None
    ) -> None:
        if decision.records and cause is not None:
            decision = self._append(decision, cause, now_ms)
        for timer in decision.timers:
            self._set_timer(timer, now_ms)
        if asked is not None:
            if decision.ticket is not None:
                self._tickets[decision.ticket] = asked
            elif decision.reply is not None:
                self._reply(asked, decision.reply)
        for ticket, reply in decision.released:
            self._reply(self._tickets.pop(ticket), reply)

    def _reply(self, asked: Asked, reply: Reply) -> None:
        self._uncommitted.when_committed(partial(asked.answer, reply), partial(_give_up, asked))

    # Records.

    def _append(self, decision: Decision, cause: Command | TimerKey, now_ms: int) -> Decision:
        try:
            base_offset = self._write(decision, cause, now_ms)
        except Refused as refused:
            logger.warning("%s took no record: %s", self.partition.name, refused)
            return self.shard.not_appended(decision, cause, refused.error_code, now_ms)
        producer_id = cause.producer_id if isinstance(cause, TransactionalOffsetCommit) else NO_PRODUCER_ID
        for offset, record in enumerate(decision.records, base_offset):
            self.shard.apply(record, offset, producer_id)
        return decision

    def _write(self, decision: Decision, cause: Command | TimerKey, now_ms: int) -> int:
        """Gives the offset of the first record; the others follow it without a gap."""
        partition = self.partition
        partition.check_leader()
        assert partition.leader is not None
        partition.leader.check_append(ACKS_ALL)
        settings = partition.log.settings
        bytes_max = min(settings.max_message_bytes, settings.segment_bytes)
        if isinstance(cause, TransactionalOffsetCommit):
            batches = [encode_in_transaction(decision.records, now_ms, cause.producer_id, cause.producer_epoch)]
        else:
            batches = encode_batches(decision.records, now_ms, bytes_max)
        base_offset = partition.log.log_end_offset
        try:
            outcomes = partition.append(batches, now_ms, from_client=False)
        except StorageFailed as failure:
            self._host.call_soon(self.resign)  # nothing can be decided here any more
            raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)) from failure
        for outcome in outcomes:
            if isinstance(outcome, Refused):
                raise outcome
        return base_offset

    # Timers.

    def _set_timer(self, timer: Timer, now_ms: int) -> None:
        running = self._timers.pop(timer.key, None)
        if running is not None:
            running.cancel()
        if timer.at_ms is not None:
            due = partial(self._fired, timer.key, timer.at_ms)
            self._timers[timer.key] = self._host.call_later(timer.at_ms - now_ms, due)

    def _fired(self, key: TimerKey, at_ms: int) -> None:
        del self._timers[key]
        now_ms = max(at_ms, self._host.now_ms())
        self._carry_out(self.shard.timer_fired(key, now_ms), key, now_ms)


def _give_up(asked: Asked, refused: Refused) -> None:
    """What the log says of its own records is not what a client may take for its own topic's error."""
    asked.refuse(Refused(client_error(refused.error_code), refused.reason))
