"""The coordinator of the transactional ids of one partition of `__transaction_state`.

    decision = shard.decide(command, now_ms)          what to write, answer, send, wait for; nothing stored changes
    for record in decision.records: shard.apply(record)             the only way that stored state changes

On becoming leader the shell makes a new shard with its leader epoch, gives every record of the partition to `apply`
in order, and then calls `loaded`; from then on there are `decide`, `timer_fired` and `markers_written`. On ceasing to
be leader it calls `resigned` and drops the shard. There is no undoing: what was applied and not committed is simply
not in the next one.

The heart of it: **a transaction is decided by one record**, PREPARE_COMMIT or PREPARE_ABORT. Before that record is
committed nobody has heard of it, and it may be lost with its leader. After it every coordinator, this one or a later,
sends the same markers until all are written, and then writes that it is complete. A record is one line of state, so
memory and log cannot disagree.

Besides what is stored a shard knows what dies with it: timers, and which markers are under way. `decide` may change
those.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from strandline.model.coordinator_timers import Timer
from strandline.model.coordinators import client_error
from strandline.model.failures import ErrorCode, Refused
from strandline.transactions import commands
from strandline.transactions.adding import add_offsets, add_partitions
from strandline.transactions.commands import Command
from strandline.transactions.completing import forget_partitions, hear_of_markers, markers_timer_fired, resume
from strandline.transactions.decisions import Decision, TimerKey, TimerKind, markers_timer
from strandline.transactions.descriptions import describe_transactions, list_transactions
from strandline.transactions.draft import CoordinatorState, Draft, Phase
from strandline.transactions.ending import end_transaction
from strandline.transactions.init_producer import init_producer_id
from strandline.transactions.markers import MarkersWritten
from strandline.transactions.producer_ids import ProducerIds
from strandline.transactions.records import TransactionRecord
from strandline.transactions.replies import Reply
from strandline.transactions.settings import TransactionSettings
from strandline.transactions.states import EPOCH_BUMPS, TransactionState
from strandline.transactions.timeouts import abort_timed_out, remove_expired, watch_time

RETRY_MS = 500
Cause = Command | TimerKey | MarkersWritten
Handler = Callable[[CoordinatorState, Draft, Any], Reply]
HANDLERS: dict[type[Command], Handler] = {
    commands.InitProducerId: init_producer_id,
    commands.AddPartitions: add_partitions,
    commands.AddOffsets: add_offsets,
    commands.EndTransaction: end_transaction,
    commands.DescribeTransactions: describe_transactions,
    commands.ListTransactions: list_transactions,
    commands.PartitionsDeleted: forget_partitions,
}
REFUSALS = {
    Phase.LOADING: Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the coordinator is loading"),
    Phase.RESIGNED: Refused(ErrorCode.NOT_COORDINATOR, "another broker is the coordinator"),
}


class TransactionShard:
    __slots__ = ("_state",)

    def __init__(
        self,
        settings: TransactionSettings,
        producer_ids: ProducerIds,
        *,
        coordinator_epoch: int,
        transaction_version: int = EPOCH_BUMPS,
    ) -> None:
        """`coordinator_epoch` is the partition's leader epoch; `producer_ids` are the broker's, and may run out."""
        self._state = CoordinatorState(settings, producer_ids, coordinator_epoch, transaction_version)

    def settings_changed(self, settings: TransactionSettings) -> None:
        self._state.settings = settings

    def apply(self, record: TransactionRecord) -> None:
        transactional_id, transaction = record
        state = self._state
        if transaction is None:
            state.transactions.pop(transactional_id, None)
        else:
            state.transactions[transactional_id] = transaction
        if transaction is None or not transaction.state.is_prepared:
            state.completions.pop(transactional_id, None)
        if transaction is not None and transaction.state is TransactionState.ONGOING:
            state.ongoing[transactional_id] = None
        else:
            state.ongoing.pop(transactional_id, None)
            state.timed_since_ms.pop(transactional_id, None)

    def loaded(self, now_ms: int) -> Decision:
        """All records are applied; time begins, and what was decided goes on."""
        self._state.phase = Phase.ACTIVE
        draft = Draft(self._state, now_ms)
        resume(self._state, draft)
        watch_time(self._state, draft)
        return draft.decision(None)

    def resigned(self, now_ms: int) -> Decision:
        """Whoever still asks is sent to look for the new coordinator, and what is heard of markers is its business."""
        draft = Draft(self._state, now_ms)
        for key in self._state.timers:
            draft.cancel_timer(key)
        self._state.phase = Phase.RESIGNED
        return draft.decision(None)

    def decide(self, command: Command, now_ms: int) -> Decision:
        if self._state.phase is not Phase.ACTIVE:
            return Decision(reply=command.refused(REFUSALS[self._state.phase]))
        draft = Draft(self._state, now_ms)
        try:
            reply = HANDLERS[type(command)](self._state, draft, command)
        except Refused as refusal:
            return Decision(reply=command.refused(refusal))
        return draft.decision(reply)

    def markers_written(self, event: MarkersWritten, now_ms: int) -> Decision:
        draft = Draft(self._state, now_ms)
        if self._state.phase is Phase.ACTIVE:
            hear_of_markers(self._state, draft, event)
        return draft.decision(None)

    def timer_fired(self, key: TimerKey, now_ms: int) -> Decision:
        """A timer that is not set is an echo of an older one. One that comes early, as when a clock was set back,
        does no harm."""
        draft = Draft(self._state, now_ms)
        if key not in self._state.timers or self._state.phase is not Phase.ACTIVE:
            return draft.decision(None)
        del self._state.timers[key]
        match key.kind:
            case TimerKind.TIMEOUTS:
                abort_timed_out(self._state, draft)
            case TimerKind.EXPIRY:
                remove_expired(self._state, draft)
            case TimerKind.MARKERS:
                markers_timer_fired(self._state, draft, key.transactional_id)
        return draft.decision(None)

    def not_appended(self, decision: Decision, cause: Cause, append_error: ErrorCode, now_ms: int) -> Decision:
        """The decision to go on with when the log took no record: nothing has happened.

        Whoever asked hears an error, and no epoch has been raised (KAFKA-9666). What nobody asked for is tried again.
        """
        for marker in decision.markers:
            self._state.completions.pop(marker.transactional_id, None)
        reply, timers = decision.reply, {timer.key: timer.at_ms for timer in decision.timers}
        if isinstance(cause, TimerKey):
            timers[cause] = now_ms + RETRY_MS
        elif not isinstance(cause, MarkersWritten):
            reply = cause.refused(Refused(client_error(append_error), "the log took no record"))
        for transactional_id, _ in decision.records:
            if transactional_id in self._state.completions:
                timers[markers_timer(transactional_id)] = now_ms + RETRY_MS
        self._state.timers |= {key: at_ms for key, at_ms in timers.items() if at_ms is not None}
        return replace(
            decision,
            records=(),
            timers=tuple(Timer(key, at_ms) for key, at_ms in timers.items()),
            reply=reply,
            markers=(),
        )
