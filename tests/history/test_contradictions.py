"""Histories that cannot be true whatever the cluster did: one sentence, never a traceback."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.history.planting import Line, assign, begin, client, commit, end, found, operations, poll, revoke, send, trim

from strandline.history.checker import check
from strandline.history.operations import Assign, How, Outcome
from strandline.history.transaction import Contradiction
from strandline.model.partitions import TopicPartition

SENT = [send("anna", "a", 0), send("anna", "b", 1)]


def test_a_transaction_that_ends_before_it_begins() -> None:
    with pytest.raises(Contradiction, match="transaction 't1' ended before it began") as refused:
        check(operations(end("anna", "t1"), begin("anna", "t1"), *SENT))
    assert refused.value.operations == (1, 2)


def test_lines_may_come_in_any_order() -> None:
    lines = [end("anna", "t1", began_us=5, ended_us=6), begin("anna", "t1", began_us=1, ended_us=2)]
    assert found(*lines, send("anna", "a", 0, began_us=3), poll("carl", (0, "a"))) == {}


def test_a_name_of_two_transactions() -> None:
    lines = [begin("anna", "t1"), end("anna", "t1"), *SENT, begin("anna", "t1"), end("anna", "t1")]
    with pytest.raises(Contradiction, match="transaction 't1' began twice") as refused:
        check(operations(*lines))
    assert refused.value.operations == (1, 5)


def test_a_begin_that_is_tried_again() -> None:
    for outcome in ("fail", "unknown"):
        for lines in (
            [begin("anna", "t1", outcome=outcome), begin("anna", "t1"), end("anna", "t1")],
            [end("anna", "t1", outcome="fail"), begin("anna", "t1"), begin("anna", "t1", outcome=outcome)],
        ):
            assert check(operations(*lines, *SENT, poll("carl", (0, "a"), (1, "b")))).is_sound


def test_whoever_ends_it_may_have_another_clock() -> None:
    """Then nobody knows which came first."""
    lines = [client("anna", clock="here"), client("bert", clock="there"), end("bert", "t1"), begin("anna", "t1")]
    assert found(*lines, *SENT, poll("carl", (0, "a"), (1, "b"))) == {}
    with pytest.raises(Contradiction):
        check(operations(client("bert", clock="here"), *lines[:1], *lines[2:]))


@pytest.mark.parametrize("decisions", [("commit", "abort"), ("abort", "commit")])
def test_a_transaction_that_was_committed_and_aborted(decisions: tuple[str, str]) -> None:
    """In whichever order it was written down."""
    ends = [end("anna", "t1", decision) for decision in decisions]
    with pytest.raises(Contradiction, match="transaction 't1' was committed and aborted") as refused:
        check(operations(begin("anna", "t1"), *SENT, *ends, poll("carl", (0, "a"), (1, "b"))))
    assert sorted(refused.value.operations) == [4, 5]


def test_an_end_that_is_tried_again() -> None:
    for decision in ("commit", "abort"):
        lines = [*SENT, end("anna", "t1", decision), end("anna", "t1", decision), poll("carl", (0, "a"), (1, "b"))]
        assert found(begin("anna", "t1"), *lines) == {}


def test_a_position_that_no_client_has() -> None:
    """From Python: a line that says so is refused."""
    assigned = Assign(1, "carl", Outcome.OK, 1, 1, How.ASSIGN, ((TopicPartition("orders", 7), -5),))
    assert check([assigned, *operations(*SENT)]).bad_kinds == set()


PROCESSES, TRANSACTIONS = st.sampled_from("pq"), st.sampled_from(["t", "u"])
POSITIONS, PLACES, VALUES = st.integers(-2, 4), st.integers(0, 4), st.sampled_from("abcd")
STAMPS = st.fixed_dictionaries(
    {"outcome": st.sampled_from(["ok", "ok", "unknown", "fail"])},
    optional={"began_us": st.integers(0, 30)},
)


def belonging(make: st.SearchStrategy[Line]) -> st.SearchStrategy[Line]:
    """In a transaction or not, at some time or at that of its line."""
    return st.builds(
        lambda line, stamp, name: (line[0], {**line[1], **stamp, "transaction": name}),
        make,
        STAMPS,
        st.none() | TRANSACTIONS,
    )


def stamped(make: st.SearchStrategy[Line]) -> st.SearchStrategy[Line]:
    return st.builds(lambda line, stamp: (line[0], {**line[1], **stamp}), make, STAMPS)


LINES = st.one_of(
    st.builds(client, PROCESSES, clock=st.sampled_from(["here", "there"]), group=st.just("kitchen")),
    belonging(st.builds(send, PROCESSES, VALUES, st.none() | PLACES, st.integers(0, 1))),
    st.builds(send, PROCESSES, VALUES, partition=st.none(), outcome=st.sampled_from(["unknown", "fail"])),
    belonging(st.builds(poll, PROCESSES, st.tuples(PLACES, VALUES), st.tuples(PLACES, VALUES))),
    belonging(st.builds(commit, PROCESSES, PLACES)),
    stamped(st.builds(assign, PROCESSES, POSITIONS, how=st.sampled_from(["assign", "seek", "rebalance", "subscribe"]))),
    stamped(st.builds(revoke, PROCESSES)),
    stamped(st.builds(begin, PROCESSES, TRANSACTIONS)),
    stamped(st.builds(end, PROCESSES, TRANSACTIONS, st.sampled_from(["commit", "abort"]))),
    st.builds(trim, PROCESSES, PLACES),
)


@given(st.lists(LINES, max_size=16))
def test_whatever_was_written_down_has_a_verdict_or_is_refused(lines: list[Line]) -> None:
    with suppress(Contradiction):
        assert all(str(anomaly.sentence) for anomaly in check(operations(*lines)).anomalies())
