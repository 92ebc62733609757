"""The states of a transactional id, and what may follow what.

    EMPTY                a producer has the id and has begun nothing
    ONGOING              a transaction is open; its partitions are known. It ends by EndTxn, by its timeout, or because
                         another producer comes for the id
    PREPARE_COMMIT,      the outcome is decided, for good: once this record is committed, markers go to all partitions,
    PREPARE_ABORT        from this coordinator or from any later one. Until all are written nobody may begin anew
    COMPLETE_COMMIT,     all markers are written
    COMPLETE_ABORT
    DEAD                 the id has expired; a tombstone says so, the state itself is never stored
    PREPARE_EPOCH_FENCE  on the way from ONGOING to PREPARE_ABORT where it is not the producer that aborts: its epoch is
                         taken from it. Never stored either

With transaction version 2 a producer may abort what it has not begun, since it cannot know whether its first records
reached a partition: hence the ways from EMPTY and from both COMPLETE states to PREPARE_ABORT (KIP-890).
"""

from __future__ import annotations

from enum import IntEnum

from strandline.model.failures import check

# Levels of the feature `transaction.version`.
FLEXIBLE_RECORDS = 1  # records may have tagged fields
EPOCH_BUMPS = 2  # every transaction ends with a new epoch


class TransactionState(IntEnum):
    """The numbers are stored."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """As clients see it."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @property
    def is_prepared(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def is_commit(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)

    @property
    def may_expire(self) -> bool:
        return self is TransactionState.EMPTY or self.is_complete


BY_TITLE = {state.title: state for state in TransactionState}
BEGIN_OR_EXPIRE = frozenset(
    {TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT, TransactionState.DEAD}
)
MAY_BECOME: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: BEGIN_OR_EXPIRE,
    TransactionState.ONGOING: frozenset(
        {
            TransactionState.ONGOING,
            TransactionState.PREPARE_COMMIT,
            TransactionState.PREPARE_ABORT,
            TransactionState.PREPARE_EPOCH_FENCE,
        }
    ),
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.COMPLETE_COMMIT}),
    TransactionState.PREPARE_ABORT: frozenset({TransactionState.COMPLETE_ABORT}),
    TransactionState.COMPLETE_COMMIT: BEGIN_OR_EXPIRE,
    TransactionState.COMPLETE_ABORT: BEGIN_OR_EXPIRE,
    TransactionState.DEAD: frozenset(),
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.PREPARE_ABORT}),
}


def check_transition(transactional_id: str, state: TransactionState, following: TransactionState) -> None:
    if following not in MAY_BECOME[state]:  # the sentence is dearer than the question
        check(False, f"{transactional_id} cannot go from {state.title} to {following.title}")
