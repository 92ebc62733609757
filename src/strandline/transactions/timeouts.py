"""What time does: transactions that take too long are aborted, and ids that nobody uses are forgotten.

Both are looked for at intervals. A decision has a bounded number of bytes to write, which fit into one batch; what is
left over follows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from strandline.transactions.decisions import EXPIRY_TIMER, TIMEOUTS_TIMER, TimerKey
from strandline.transactions.draft import CoordinatorState, Draft
from strandline.transactions.formats import encode_record
from strandline.transactions.records import Transaction, TransactionRecord
from strandline.transactions.transitions import fenced

DECISION_BYTES_MAX = 256 * 1024  # a fourth of what a batch may have by default


def watch_time(state: CoordinatorState, draft: Draft) -> None:
    settings = state.settings
    draft.set_timer(TIMEOUTS_TIMER, settings.transaction_abort_timed_out_transaction_cleanup_interval_ms)
    draft.set_timer(EXPIRY_TIMER, settings.transaction_remove_expired_transaction_cleanup_interval_ms)


def abort_timed_out(state: CoordinatorState, draft: Draft) -> None:
    """Nobody asked for it, so the producer's epoch is taken from it; it may come back for the next (`epochs`)."""
    late = [
        (transactional_id, state.transactions[transactional_id])
        for transactional_id in state.ongoing
        if _is_late(state, draft.now_ms, transactional_id)
    ]

    def abort(transactional_id: str, transaction: Transaction) -> None:
        version = state.transaction_version
        aborted = fenced(transaction, by_another=False, transaction_version=version, now_ms=draft.now_ms)
        draft.end(transactional_id, aborted)

    interval_ms = state.settings.transaction_abort_timed_out_transaction_cleanup_interval_ms
    _do_some(state, draft, late, abort, TIMEOUTS_TIMER, interval_ms)


def _is_late(state: CoordinatorState, now_ms: int, transactional_id: str) -> bool:
    """A clock that was set back must not make a transaction immortal: its time counts from when that was seen."""
    transaction = state.transactions[transactional_id]
    start_ms = min(transaction.start_ms, state.timed_since_ms.get(transactional_id, transaction.start_ms))
    if start_ms > now_ms:
        state.timed_since_ms[transactional_id] = start_ms = now_ms
    return start_ms + transaction.timeout_ms < now_ms


def remove_expired(state: CoordinatorState, draft: Draft) -> None:
    oldest_ms = draft.now_ms - state.settings.transactional_id_expiration_ms
    expired = [
        (transactional_id, transaction)
        for transactional_id, transaction in state.transactions.items()
        if transaction.state.may_expire and transaction.last_update_ms <= oldest_ms
    ]
    interval_ms = state.settings.transaction_remove_expired_transaction_cleanup_interval_ms
    _do_some(state, draft, expired, lambda name, _transaction: draft.remove(name), EXPIRY_TIMER, interval_ms)


def _do_some(
    state: CoordinatorState,
    draft: Draft,
    entries: Iterable[tuple[str, Transaction]],
    action: Callable[[str, Transaction], None],
    timer: TimerKey,
    interval_ms: int,
) -> None:
    bytes_left = DECISION_BYTES_MAX
    for transactional_id, transaction in entries:
        if bytes_left <= 0:
            interval_ms = 0
            break
        action(transactional_id, transaction)
        key, value = encode_record(TransactionRecord(transactional_id, transaction), state.transaction_version)
        bytes_left -= len(key) + len(value or b"")
    draft.set_timer(timer, interval_ms)
