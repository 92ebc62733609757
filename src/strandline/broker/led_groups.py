"""The groups of one partition of `__consumer_offsets` that this broker leads: a shard, and what it decides, done.

What is to be done with a decision, and in which order, is the contract of `groups.decisions`. A request is answered
only when everything appended so far is committed: a partition with one replica has committed what it has appended, and
the answer goes out at once.

A partition that is no longer led is dropped with its shard. Whoever waited is sent to look for the new coordinator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar, cast

from strandline.broker.asking import Asked, Asking, Stage
from strandline.broker.commit_queue import CommitQueue
from strandline.broker.group_batches import encode_batches, encode_in_transaction
from strandline.broker.host import Host
from strandline.broker.led_partitions import append_decided
from strandline.broker.partition import Partition
from strandline.broker.shard_timers import ShardTimers
from strandline.groups.commands import Command, PartitionsDeleted, RefusableCommand, TransactionalOffsetCommit
from strandline.groups.decisions import Decision, Ticket, TimerKey
from strandline.groups.draft import Topic
from strandline.groups.offsets import NO_PRODUCER_ID
from strandline.groups.replies import Reply
from strandline.groups.settings import GroupSettings
from strandline.groups.shard import GroupShard
from strandline.model.failures import ErrorCode, Refused, check

logger = logging.getLogger(__name__)

R = TypeVar("R", bound=Reply)


class LedGroups:
    def __init__(self, partition: Partition, settings: GroupSettings, host: Host, commit_timeout_ms: int) -> None:
        self.partition = partition
        self.shard = GroupShard(settings)
        self.stage = Stage.LOADING
        self._host = host
        self._uncommitted = CommitQueue(partition, host, commit_timeout_ms)
        self._timers: ShardTimers[TimerKey] = ShardTimers(host, self._fired)
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
        self._timers.cancel_all()
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
        asked = Asked(command, answer)
        if self.stage is Stage.ACTIVE:
            now_ms, wanted = self._host.now_ms(), cast(RefusableCommand, command)
            self._carry_out(self.shard.decide(wanted, now_ms), wanted, now_ms, asked)
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
            self._timers.set(timer.key, timer.at_ms, now_ms)
        if asked is not None:
            if decision.ticket is not None:
                self._tickets[decision.ticket] = asked
            elif decision.reply is not None:
                self._reply(asked, decision.reply)
        for ticket, reply in decision.released:
            self._reply(self._tickets.pop(ticket), reply)

    def _reply(self, asked: Asked, reply: Reply) -> None:
        self._uncommitted.when_committed(partial(asked.answer, reply), asked.give_up)

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
        settings = self.partition.log.settings
        bytes_max = min(settings.max_message_bytes, settings.segment_bytes)
        if isinstance(cause, TransactionalOffsetCommit):
            batches = [encode_in_transaction(decision.records, now_ms, cause.producer_id, cause.producer_epoch)]
        else:
            batches = encode_batches(decision.records, now_ms, bytes_max)
        return append_decided(self.partition, batches, now_ms, partial(self._host.call_soon, self.resign))

    # Timers.

    def _fired(self, key: TimerKey, at_ms: int) -> None:
        now_ms = max(at_ms, self._host.now_ms())
        self._carry_out(self.shard.timer_fired(key, now_ms), key, now_ms)
