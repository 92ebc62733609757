"""`check`: a history in, a verdict out. Time and memory grow with the number of operations and records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from strandline.history.anomalies import (
    cycles,
    exactly_once,
    group_offsets,
    intermediate,
    isolation,
    log,
    loss,
    order,
    tail,
)
from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.operations import Operation
from strandline.history.verdict import Anomaly, Verdict, collect

Search = Callable[[History, Expectations], Iterator[Anomaly]]

SEARCHES: tuple[Search, ...] = (
    log.inconsistent_offsets,
    log.duplicates,
    log.misplaced,
    log.phantoms,
    loss.lost_writes,
    loss.torn_transactions,
    loss.unseen,
    tail.lost_tails,
    isolation.aborted_reads,
    isolation.precommitted_reads,
    isolation.uncommitted_reads,
    isolation.future_reads,
    order.poll_skips,
    intermediate.intermediate_reads,
    order.nonmonotonic_polls,
    order.nonmonotonic_sends,
    order.internal_send_skips,
    group_offsets.lost_commits,
    group_offsets.phantom_commits,
    exactly_once.consumed_twice,
    cycles.cycles,
)


def check(operations: Iterable[Operation], expectations: Expectations = Expectations()) -> Verdict:  # noqa: B008
    """Operations of one process may come in any order: when they began is what counts."""
    history = History(operations)
    findings = collect(anomaly for search in SEARCHES for anomaly in search(history, expectations))
    return Verdict(findings, history.operation_counts, history.counts(), history.topics())
