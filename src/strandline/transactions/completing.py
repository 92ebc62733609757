"""From prepared to complete: markers are written, sent again, or not needed any more."""

from __future__ import annotations

from strandline.model.failures import ErrorCode
from strandline.transactions.commands import PartitionsDeleted
from strandline.transactions.decisions import markers_timer
from strandline.transactions.draft import CoordinatorState, Draft
from strandline.transactions.markers import Completion, MarkersWritten
from strandline.transactions.replies import Done


def resume(state: CoordinatorState, draft: Draft) -> None:
    """After loading: whatever is prepared is told to its partitions, all of them."""
    for transactional_id, transaction in state.transactions.items():
        if transaction.state.is_prepared:
            state.completions[transactional_id] = Completion(transaction.partitions)
            if transaction.partitions:
                draft.send_markers(transactional_id, transaction)
            else:
                draft.set_timer(markers_timer(transactional_id), 0)


def hear_of_markers(state: CoordinatorState, draft: Draft, event: MarkersWritten) -> None:
    completion = state.completions.get(event.transactional_id)
    if completion is None or event.coordinator_epoch != state.coordinator_epoch:
        return
    if any(error_code is ErrorCode.TRANSACTION_COORDINATOR_FENCED for _, error_code in event.results):
        # A partition has had a marker from a later coordinator than this one, which completes what is to be completed.
        del state.completions[event.transactional_id]
        draft.cancel_timer(markers_timer(event.transactional_id))
        return
    for partition, error_code in event.results:
        completion.heard(partition, event.number, error_code)
    _go_on(state, draft, event.transactional_id, completion)


def forget_partitions(state: CoordinatorState, draft: Draft, command: PartitionsDeleted) -> Done:
    for transactional_id, completion in state.completions.items():
        if any(partition in command.partitions for partition in completion.waiting):
            completion.forget(command.partitions)
            _go_on(state, draft, transactional_id, completion)
    return Done()


def _go_on(state: CoordinatorState, draft: Draft, transactional_id: str, completion: Completion) -> None:
    if completion.is_done:
        draft.complete(transactional_id)
    elif completion.unsent and markers_timer(transactional_id) not in state.timers:
        draft.set_timer(markers_timer(transactional_id), completion.next_delay_ms())


def markers_timer_fired(state: CoordinatorState, draft: Draft, transactional_id: str) -> None:
    completion = state.completions.get(transactional_id)
    if completion is None:
        return
    if completion.is_done:
        draft.complete(transactional_id)
    elif completion.unsent:
        draft.send_markers(transactional_id, state.transactions[transactional_id])
