"""Reads of what had failed, was aborted or was not committed yet; and how the fate of a transaction is told."""

from __future__ import annotations

import pytest
from tests.history.planting import Line, assign, begin, client, end, found, poll, send, transaction, verdict

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
