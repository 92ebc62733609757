"""The transactional ids of one partition of `__transaction_state` that this broker leads: a shard, and what it decides,
done.

What is to be done with a decision, and in which order, is the contract of `transactions.decisions`. A reply that is not
committed in time is given up, with an error that makes the client ask again. Markers are not given up: they wait for
their commit as long as this broker leads the partition, and are then sent until they are written.

A partition that is no longer led is dropped with its shard. Whoever waited is sent to look for the new coordinator,
which sends all markers anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar, cast

from strandline.broker.asking import Asked, Asking, Stage
from strandline.broker.commit_queue import CommitQueue
from strandline.broker.host import Host
from strandline.broker.led_partitions import append_decided
from strandline.broker.partition import Partition
from strandline.broker.shard_timers import ShardTimers
from strandline.broker.transaction_batches import encode_batch
from strandline.model.failures import ErrorCode, Refused
from strandline.transactions.commands import Command, PartitionsDeleted
from strandline.transactions.decisions import Decision, TimerKey
from strandline.transactions.markers import Marker, MarkersWritten
from strandline.transactions.producer_ids import ProducerIds
from strandline.transactions.replies import Reply
from strandline.transactions.settings import TransactionSettings
from strandline.transactions.shard import Cause, TransactionShard

logger = logging.getLogger(__name__)

R = TypeVar("R", bound=Reply)
Written = Callable[[MarkersWritten], object]
SendMarkers = Callable[[Sequence[Marker], Written], object]
NOBODY_WAITS = Refused(ErrorCode.NOT_COORDINATOR, "another broker may coordinate these transactions now")


class LedTransactions:
    def __init__(
        self,
        partition: Partition,
        settings: TransactionSettings,
        producer_ids: ProducerIds,
        host: Host,
        reply_timeout_ms: int,
        send_markers: SendMarkers,
    ) -> None:
        self.partition = partition
        self.shard = TransactionShard(settings, producer_ids, coordinator_epoch=partition.leader_epoch)
        self.stage = Stage.LOADING
        self._host = host
        self._send_markers = send_markers
        self._replies = CommitQueue(partition, host, reply_timeout_ms)
        self._markers = CommitQueue(partition, host, timeout_ms=None)
        self._timers: ShardTimers[TimerKey] = ShardTimers(host, self._fired)

    # Life.

    def loaded(self, settings: TransactionSettings) -> None:
        """Every record of the log is applied: requests may come."""
        self.stage = Stage.ACTIVE
        self.settings_changed(settings)
        now_ms = self._host.now_ms()
        self._carry_out(self.shard.loaded(now_ms), None, now_ms)

    def could_not_load(self) -> None:
        self.stage = Stage.OVER

    def resign(self) -> None:
        """For good: the next leadership has a new shard."""
        was_active, self.stage = self.stage is Stage.ACTIVE, Stage.OVER
        self._timers.cancel_all()
        self._replies.abandon(NOBODY_WAITS)
        self._markers.abandon(NOBODY_WAITS)
        if was_active:
            self.shard.resigned(self._host.now_ms())

    # News.

    def settings_changed(self, settings: TransactionSettings) -> None:
        if self.stage is Stage.ACTIVE:
            self.shard.settings_changed(settings)

    def partitions_deleted(self, deleted: PartitionsDeleted) -> None:
        """While it is loaded nobody listens; whoever sends the markers finds out again."""
        if self.stage is Stage.ACTIVE:
            now_ms = self._host.now_ms()
            self._carry_out(self.shard.decide(deleted, now_ms), deleted, now_ms)

    def markers_written(self, event: MarkersWritten) -> None:
        if self.stage is Stage.ACTIVE:
            now_ms = self._host.now_ms()
            self._carry_out(self.shard.markers_written(event, now_ms), event, now_ms)

    # Requests.

    def ask(self, command: Asking[R], answer: Callable[[R], object]) -> None:
        """`answer` is called once, now or later."""
        asked = Asked(command, answer)
        if self.stage is Stage.ACTIVE:
            now_ms, wanted = self._host.now_ms(), cast(Command, command)
            self._carry_out(self.shard.decide(wanted, now_ms), wanted, now_ms, asked)
        elif self.stage is Stage.LOADING:
            asked.refuse(Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the transactions are being loaded"))
        else:
            asked.refuse(Refused(ErrorCode.NOT_COORDINATOR, "this broker does not coordinate the transaction"))

    def _carry_out(self, decision: Decision, cause: Cause | None, now_ms: int, asked: Asked | None = None) -> None:
        if decision.records and cause is not None:
            decision = self._append(decision, cause, now_ms)
        for timer in decision.timers:
            self._timers.set(timer.key, timer.at_ms, now_ms)
        if asked is not None and decision.reply is not None:
            self._replies.when_committed(partial(asked.answer, decision.reply), asked.give_up)
        if decision.markers:
            send = partial(self._send_markers, decision.markers, self.markers_written)
            self._markers.when_committed(send, _forget)

    # Records.

    def _append(self, decision: Decision, cause: Cause, now_ms: int) -> Decision:
        try:
            self._write(decision, now_ms)
        except Refused as refused:
            logger.warning("%s took no record: %s", self.partition.name, refused)
            return self.shard.not_appended(decision, cause, refused.error_code, now_ms)
        for record in decision.records:
            self.shard.apply(record)
        return decision

    def _write(self, decision: Decision, now_ms: int) -> None:
        batch = encode_batch(decision.records, now_ms)
        append_decided(self.partition, [batch], now_ms, partial(self._host.call_soon, self.resign))

    # Timers.

    def _fired(self, key: TimerKey, _at_ms: int) -> None:
        """They look at everything, again and again: by the clock as it is now, from which transactions have theirs."""
        now_ms = self._host.now_ms()
        self._carry_out(self.shard.timer_fired(key, now_ms), key, now_ms)


def _forget(_refused: Refused) -> None:
    """The shard is no more, and the next one sends these markers."""
