"""The coordinator's state, and a decision in the making."""

from __future__ import annotations

from enum import Enum

from strandline.model.coordinator_timers import TimedDraft
from strandline.model.failures import ErrorCode, Refused
from strandline.transactions.decisions import Decision, TimerKey, markers_timer
from strandline.transactions.markers import Completion, Marker
from strandline.transactions.producer_ids import ProducerIds
from strandline.transactions.records import Transaction, TransactionRecord
from strandline.transactions.replies import Reply
from strandline.transactions.settings import TransactionSettings
from strandline.transactions.states import TransactionState, check_transition
from strandline.transactions.transitions import completed


class Phase(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    RESIGNED = "resigned"


class CoordinatorState:
    __slots__ = (
        "completions",
        "coordinator_epoch",
        "last_number",
        "ongoing",
        "phase",
        "producer_ids",
        "settings",
        "timed_since_ms",
        "timers",
        "transaction_version",
        "transactions",
    )

    def __init__(
        self,
        settings: TransactionSettings,
        producer_ids: ProducerIds,
        coordinator_epoch: int,
        transaction_version: int,
    ) -> None:
        self.settings = settings
        self.producer_ids = producer_ids
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version
        self.phase = Phase.LOADING
        self.transactions: dict[str, Transaction] = {}  # as the log has them
        self.ongoing: dict[str, None] = {}  # the ids in state ONGOING, to find them quickly
        # What follows dies with this coordinator.
        self.completions: dict[str, Completion] = {}  # of prepared transactions
        self.timed_since_ms: dict[str, int] = {}  # of open transactions whose start lies in the future
        self.timers: dict[TimerKey, int] = {}  # those set, with their times
        self.last_number = 0

    def claim_producer_id(self) -> int:
        producer_id = self.producer_ids.claim()
        if producer_id is None:
            # Not an error that would fit better: older clients give up on those, and this one they try again.
            raise Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "no producer id is left until the next block comes")
        return producer_id


class Draft(TimedDraft[TimerKey]):
    __slots__ = ("_following", "_markers", "_records", "_state")

    def __init__(self, state: CoordinatorState, now_ms: int) -> None:
        super().__init__(state.timers, now_ms)
        self._state = state
        self._records: list[TransactionRecord] = []
        self._following: dict[str, Transaction] = {}  # what the records will make of the state
        self._markers: list[Marker] = []

    def append(self, transactional_id: str, transaction: Transaction) -> None:
        before = self._following.get(transactional_id) or self._state.transactions.get(transactional_id)
        if before is not None:
            check_transition(transactional_id, before.state, transaction.state)
        self._following[transactional_id] = transaction
        self._records.append(TransactionRecord(transactional_id, transaction))

    def remove(self, transactional_id: str) -> None:
        before = self._state.transactions[transactional_id]
        check_transition(transactional_id, before.state, TransactionState.DEAD)
        self._records.append(TransactionRecord(transactional_id, None))

    def end(self, transactional_id: str, prepared: Transaction) -> None:
        """Write down the outcome, and tell it to the partitions; where there are none, that was all."""
        self.append(transactional_id, prepared)
        if prepared.partitions:
            self._state.completions[transactional_id] = Completion(prepared.partitions)
            self.send_markers(transactional_id, prepared)
        else:
            self.append(transactional_id, completed(prepared, now_ms=self.now_ms))

    def send_markers(self, transactional_id: str, prepared: Transaction) -> None:
        """To every partition to which none is under way."""
        state = self._state
        state.last_number += 1
        self._markers.append(
            Marker(
                transactional_id=transactional_id,
                number=state.last_number,
                producer_id=prepared.producer_id,
                producer_epoch=prepared.producer_epoch,
                coordinator_epoch=state.coordinator_epoch,
                is_commit=prepared.state.is_commit,
                transaction_version=prepared.client_version,
                partitions=state.completions[transactional_id].send(state.last_number),
            )
        )

    def complete(self, transactional_id: str) -> None:
        """All markers are written."""
        self.cancel_timer(markers_timer(transactional_id))
        self.append(transactional_id, completed(self._state.transactions[transactional_id], now_ms=self.now_ms))

    def decision(self, reply: Reply | None) -> Decision:
        return Decision(
            records=tuple(self._records),
            timers=self._decided_timers(),
            reply=reply,
            markers=tuple(self._markers),
        )
