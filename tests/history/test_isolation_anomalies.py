"""Reads of what had failed, was aborted or was not committed yet; and how the fate of a transaction is told."""

from __future__ import annotations

import pytest
from tests.history.planting import Line, assign, begin, client, commit, end, found, poll, send, transaction, verdict

from strandline.history.verdict import Kind

UNCOMMITTED = client("carl", isolation="read_uncommitted")


def test_a_failed_write_is_read() -> None:
    told = verdict(send("anna", "a", outcome="fail"), assign("carl", 0), poll("carl", (0, "a")))
    assert told.bad_kinds == {Kind.ABORTED_READ}
    (anomaly,) = told.findings[Kind.ABORTED_READ].evidence
    assert (anomaly.offsets, anomaly.values, anomaly.operations) == ((0,), ("a",), (3, 1))
    assert anomaly.sentence == "carl read 'a' from orders-0 at offset 0, sent by anna, which failed"


def test_a_failed_write_is_wrong_for_readers_of_uncommitted_records_too() -> None:
    assert found(UNCOMMITTED, send("anna", "a", outcome="fail"), poll("carl", (0, "a"))) == {Kind.ABORTED_READ: True}


def aborted(*ends: Line) -> list[Line]:
    return [begin("anna", "t1"), send("anna", "a", 0, transaction="t1"), *ends, poll("carl", (0, "a"))]


ABORTED = [
    pytest.param([end("anna", "t1", "abort")], id="aborted"),
    pytest.param([end("anna", "t1", "abort", outcome="unknown")], id="never-asked-to-commit"),
    pytest.param([end("anna", "t1", outcome="fail")], id="commit-failed"),
    pytest.param([end("anna", "t1", outcome="unknown"), end("anna", "t1", "abort")], id="commit-unknown-then-aborted"),
]
NOT_ABORTED = [
    pytest.param([end("anna", "t1")], id="committed"),
    pytest.param([end("anna", "t1", outcome="unknown")], id="unknown"),
    pytest.param([end("anna", "t1", outcome="unknown"), end("anna", "t1")], id="committed-at-the-second-try"),
    pytest.param(
        [end("anna", "t1", outcome="unknown"), end("anna", "t1", "abort", outcome="unknown")], id="both-unknown"
    ),
    pytest.param([], id="client-died"),
]


@pytest.mark.parametrize("ends", ABORTED)
def test_an_aborted_transaction_is_read(ends: list[Line]) -> None:
    assert found(*aborted(*ends)) == {Kind.ABORTED_READ: True}


@pytest.mark.parametrize("ends", ABORTED)
def test_readers_of_uncommitted_records_see_aborted_ones(ends: list[Line]) -> None:
    assert found(UNCOMMITTED, *aborted(*ends)) == {}


@pytest.mark.parametrize("ends", NOT_ABORTED)
def test_a_transaction_that_may_be_committed_may_be_read(ends: list[Line]) -> None:
    assert found(*aborted(*ends)) == {}


@pytest.mark.parametrize("ends", ABORTED)
def test_readers_of_committed_records_pass_over_aborted_ones(ends: list[Line]) -> None:
    lines = [*aborted(*ends)[:-1], send("anna", "b", 2), assign("carl", 0), poll("carl", (2, "b"))]
    assert found(*lines, is_read_to_end=True) == {}
    assert found(UNCOMMITTED, *lines) == {Kind.POLL_SKIP: True}  # RP#6630: they must see them


def test_an_open_transaction_that_only_the_uncommitted_saw_is_no_gap_for_others() -> None:
    lines = [
        *aborted()[:-1],
        send("bert", "b", 1),
        poll("carl", (0, "a"), (1, "b")),
        assign("dora", 0),
        poll("dora", (1, "b")),
    ]
    assert found(UNCOMMITTED, *lines) == {}


# precommitted-read


def reading_itself(*parts: Line) -> list[Line]:
    return list(transaction("anna", "t1", send("anna", "a", 0), *parts))


def test_a_transaction_reads_its_own_write() -> None:
    assert found(*reading_itself(poll("carl", (0, "a")))) == {Kind.PRECOMMITTED_READ: True}


def test_a_transaction_reads_its_own_write_uncommitted() -> None:
    assert found(UNCOMMITTED, *reading_itself(poll("carl", (0, "a")))) == {}


def test_a_transaction_is_read_after_its_end() -> None:
    assert found(*reading_itself(), poll("carl", (0, "a"))) == {}


@pytest.mark.parametrize("is_same", [True, False], ids=["of-the-same-process", "of-one-with-its-clock"])
def test_what_is_read_after_the_commit_was_asked_for_is_not_read_too_early(is_same: bool) -> None:
    """Nobody heard of the commit; it took effect, and a recorder still gave its name to a poll."""
    reader = "anna" if is_same else "carl"
    clocks = [client(process, clock="here") for process in ("anna", "carl")]
    sent = [begin("anna", "t1"), send("anna", "a", 0, transaction="t1")]
    asked, read = end("anna", "t1", outcome="unknown"), poll(reader, (0, "a"), transaction="t1")
    assert found(*clocks, *sent, asked, read, end("anna", "t1")) == {}
    assert found(*clocks, *sent, asked, read) == {}
    assert found(*clocks, *sent, read, asked, end("anna", "t1"))[Kind.PRECOMMITTED_READ]
    refused = end("anna", "t1", outcome="fail")
    assert found(*clocks, *sent, refused, read)[Kind.PRECOMMITTED_READ]


def test_what_is_read_after_the_commit_was_asked_for_closes_no_cycle() -> None:
    first = [begin("anna", "t1"), send("anna", "a", 0, transaction="t1"), end("anna", "t1", outcome="unknown")]
    other = transaction("bert", "t2", poll("bert", (0, "a")), send("bert", "b", 1))
    lines = [*first, *other, poll("anna", (1, "b"), transaction="t1"), end("anna", "t1")]
    assert verdict(*lines).bad_kinds == set()


# uncommitted-read


def timed(read_us: int, clock: str) -> list[Line]:
    return [
        client("anna", clock="here"),
        client("carl", clock=clock),
        begin("anna", "t1", began_us=10, ended_us=10),
        send("anna", "a", 0, transaction="t1", began_us=20, ended_us=30),
        end("anna", "t1", began_us=100, ended_us=200),
        poll("carl", (0, "a"), began_us=read_us - 5, ended_us=read_us),
    ]


def test_a_record_is_read_before_its_commit_was_asked_for() -> None:
    assert found(*timed(50, "here")) == {Kind.UNCOMMITTED_READ: True}


def test_a_record_is_read_while_its_commit_is_under_way() -> None:
    assert found(*timed(150, "here")) == {}


def test_times_of_different_clocks_say_nothing() -> None:
    assert found(*timed(50, "there")) == {}


def unfinished(*later: Line, clock: str = "here") -> list[Line]:
    return [
        client("anna", clock="here"),
        client("carl", clock=clock),
        begin("anna", "t1"),
        send("anna", "a", 0, transaction="t1"),
        assign("carl", 0),
        poll("carl", (0, "a")),
        *later,
    ]


LATER = [
    pytest.param(send("anna", "z", 1, transaction="t1"), id="sent"),
    pytest.param(send("anna", "z", transaction="t1", outcome="unknown"), id="sent-perhaps"),
    pytest.param(commit("anna", 7, transaction="t1"), id="offsets"),
]


@pytest.mark.parametrize("later", LATER)
def test_a_transaction_that_went_on_after_it_was_read_had_not_been_committed(later: Line) -> None:
    """Though nobody wrote down how it ended: whoever still writes has not asked for the commit."""
    told = verdict(*unfinished(later), is_read_to_end=True)
    assert told.bad_kinds == {Kind.UNCOMMITTED_READ} == told.kinds
    assert told.counts["transactions_open"] == 1
    assert found(*unfinished(later, clock="there")).get(Kind.UNCOMMITTED_READ) is None
    assert found(UNCOMMITTED, *unfinished(later)[2:]) == {}


def test_what_failed_says_nothing_of_when_its_transaction_ended() -> None:
    assert found(*unfinished(send("anna", "z", transaction="t1", outcome="fail"))) == {}


def test_a_read_that_came_too_early_does_not_prove_the_commit() -> None:
    """So what else the transaction wrote is nobody's to miss."""
    lines = unfinished(send("anna", "z", 1, transaction="t1"), end("anna", "t1", outcome="unknown"))
    told = verdict(*lines, is_read_to_end=True)
    assert told.bad_kinds == {Kind.UNCOMMITTED_READ} == told.kinds
    assert found(*lines, poll("carl", (1, "z")), is_read_to_end=True) == {Kind.UNCOMMITTED_READ: True}


# G1c of a record that was not sent yet


def read_before_it_is_sent(decision: str = "commit", clock: str = "here", outcome: str = "ok") -> list[Line]:
    reader = client("carl", clock=clock, isolation="read_uncommitted")
    sent = transaction("anna", "t1", send("anna", "a", 0, outcome=outcome), decision=decision)
    return [client("anna", clock="here"), reader, assign("carl", 0), poll("carl", (0, "a")), *sent]


@pytest.mark.parametrize("decision", ["commit", "abort"])
@pytest.mark.parametrize("outcome", ["ok", "unknown"])
def test_who_reads_uncommitted_records_does_not_see_the_future_of_a_transaction(decision: str, outcome: str) -> None:
    told = verdict(*read_before_it_is_sent(decision, outcome=outcome))
    assert told.bad_kinds == {Kind.READ_CYCLE_REALTIME}
    (anomaly,) = told.findings[Kind.READ_CYCLE_REALTIME].evidence
    assert (anomaly.offsets, anomaly.operations) == ((0,), (4, 6))
    assert anomaly.sentence == (
        "carl read 'a' from orders-0 at offset 0, 2 µs before anna began to send it in transaction t1"
    )
    assert found(*read_before_it_is_sent(decision, "there", outcome)) == {}


def test_nor_does_a_process_that_of_its_own() -> None:
    itself = [client("anna", isolation="read_uncommitted"), assign("anna", 0), poll("anna", (0, "a"))]
    sent = transaction("anna", "t1", send("anna", "a", 0))
    assert found(*itself, *sent) == {Kind.READ_CYCLE_PROCESS: True}


def test_what_is_read_while_it_is_sent_is_not_the_future() -> None:
    reader = client("carl", clock="here", isolation="read_uncommitted")
    read = [reader, client("anna", clock="here"), assign("carl", 0, began_us=1)]
    sent = [begin("anna", "t1", began_us=1), send("anna", "a", 0, transaction="t1", began_us=10, ended_us=20)]
    for ended_us, kinds in ((9, {Kind.READ_CYCLE_REALTIME: True}), (10, {}), (15, {})):
        assert found(*read, *sent, poll("carl", (0, "a"), began_us=2, ended_us=ended_us)) == kinds


# A producer that begins the next transaction without having ended one.

NEXT = [begin("anna", "t2"), send("anna", "b", 1, transaction="t2"), end("anna", "t2")]


def left_open(*lines: Line) -> list[Line]:
    return [begin("anna", "t1"), send("anna", "a", 0, transaction="t1"), *lines]


def test_a_transaction_that_its_producer_left_open_was_never_committed() -> None:
    told = verdict(*left_open(*NEXT), poll("carl", (0, "a"), (1, "b")))
    assert told.bad_kinds == {Kind.ABORTED_READ} == told.kinds
    (anomaly,) = told.findings[Kind.ABORTED_READ].evidence
    assert anomaly.sentence.endswith("in transaction t1, whose producer went on to the next without ending it")
    assert found(*left_open(*NEXT), assign("carl", 0), poll("carl", (1, "b")), is_read_to_end=True) == {}


def test_a_producer_that_was_started_again_may_have_asked_before_it_died() -> None:
    again = [client("anna"), client("anna")]
    assert found(*again[:1], *left_open(*again[1:], *NEXT), poll("carl", (0, "a"), (1, "b"))) == {}


def test_a_process_with_several_transactions_at_a_time_leaves_none_open() -> None:
    other = [begin("anna", "t2"), send("anna", "b", 1, transaction="t2")]
    after = send("anna", "c", 2, transaction="t1")
    reads = poll("carl", (0, "a"), (1, "b"), (2, "c"))
    assert verdict(*left_open(*other, after, end("anna", "t2")), reads).bad_kinds == set()
    third = [begin("anna", "t3"), send("anna", "d", 3, transaction="t3"), end("anna", "t3")]
    lines = left_open(*other, end("anna", "t1"), *third)
    assert found(*lines, poll("carl", (0, "a"), (1, "b"), (3, "d"))) == {}


def test_a_next_one_of_unknown_outcome_says_nothing() -> None:
    assert found(*left_open(begin("anna", "t2", outcome="unknown")), poll("carl", (0, "a"))) == {}
