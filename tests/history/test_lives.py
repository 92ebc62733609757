"""A process that is started again tells of itself again, and what it tells is for what it does from then on."""

from __future__ import annotations

import pytest
from tests.history.planting import (
    Line,
    assign,
    begin,
    client,
    commit,
    end,
    found,
    poll,
    send,
    transaction,
    verdict,
)

from strandline.history.verdict import Kind

AGAIN = client("anna", acks="all", idempotent=True)
READS_LATE = poll("carl", (0, "b"), (1, "a"))


def test_what_was_under_way_in_a_first_life_may_land_after_what_a_second_sent() -> None:
    """An idempotent producer without a transactional id is another one to its broker."""
    for first, again in ((client("anna"), client("anna")), (AGAIN, AGAIN)):
        lives = [first, send("anna", "a", outcome="unknown"), again, send("anna", "b", 0)]
        assert found(*lives, READS_LATE) == {}
        assert found(*lives[:2], *lives[3:], READS_LATE) == {Kind.NONMONOTONIC_SEND: True}


def test_who_names_no_clock_may_have_another_in_each_life() -> None:
    """Its second life began with a clock at 0: by that it read the record before it was sent."""
    first = [client("anna"), send("anna", "a", 0, began_us=1_000_000, ended_us=1_000_005)]
    second = [assign("anna", 0, began_us=5, ended_us=7), poll("anna", (0, "a"), began_us=10, ended_us=15)]
    assert found(*first, client("anna"), *second) == {}
    assert found(*first, *second) == {Kind.READ_CYCLE_PROCESS: True}


def test_who_names_a_clock_in_its_second_life_may_have_had_another_in_its_first() -> None:
    """By the clock of the second it read what was sent later, and before its commit was asked for."""
    boots = [client("carl"), poll("carl", (0, "a"), began_us=950), client("carl", clock="here"), assign("carl", 0)]
    asked = end("anna", "t1", began_us=1000)
    sent = [begin("anna", "t1", began_us=980), send("anna", "a", 0, transaction="t1", began_us=990), asked]
    assert found(client("anna", clock="here"), *sent, *boots) == {}
    assert found(client("anna", clock="here"), send("anna", "a", 0, began_us=980), *boots) == {}


def test_who_tells_its_clock_as_a_consumer_has_it_as_a_producer_too() -> None:
    sent = [begin("anna", "t1", began_us=980), send("anna", "a", 0, transaction="t1", began_us=990)]
    read = [client("carl", clock="here"), poll("carl", (0, "a"), began_us=950)]
    both = [client("anna", acks="all"), client("anna", group="kitchen", clock="here")]
    lines = [*sent, end("anna", "t1", began_us=1000), *read]
    assert Kind.UNCOMMITTED_READ in found(*both, *lines)
    assert found(both[0], *lines) == {}
    assert found(*both, client("anna", group="kitchen", clock="there"), *lines) == {}


def test_each_life_of_a_producer_has_its_order() -> None:
    lives = [AGAIN, send("anna", "x", 7), AGAIN, send("anna", "a", 1), send("anna", "b", 0)]
    assert verdict(*lives, READS_LATE, poll("carl", (7, "x"))).bad_kinds == {Kind.NONMONOTONIC_SEND}


def test_a_producer_that_is_a_consumer_too_has_one_life() -> None:
    """Also where it tells of the one after it was at work as the other."""
    consumer = client("anna", group="kitchen", isolation="read_committed", auto_commit=False)
    lines = [AGAIN, send("anna", "a", 1), consumer, send("anna", "b", 0), READS_LATE]
    assert verdict(*lines).bad_kinds == {Kind.NONMONOTONIC_SEND}
    left_open = [begin("anna", "t1"), send("anna", "a", 0, transaction="t1"), begin("anna", "t2"), end("anna", "t2")]
    assert found(AGAIN, consumer, *left_open, poll("carl", (0, "a"))) == {Kind.ABORTED_READ: True}
    assert found(AGAIN, consumer, *left_open[:2], AGAIN, *left_open[2:], poll("carl", (0, "a"))) == {}


@pytest.mark.parametrize(("first", "second", "is_bad"), [("all", "1", True), ("1", "all", False)])
def test_a_loss_is_judged_by_the_acks_of_its_life(first: str, second: str, is_bad: bool) -> None:
    lives = [
        *[client("anna", acks=first), send("anna", "a", 0), send("anna", "b", 1)],
        *[client("anna", acks=second), send("anna", "c", 2)],
    ]
    lost = found(*lives, assign("carl", 0), poll("carl", (0, "a"), (2, "c")))
    assert lost[Kind.LOST_WRITE] is is_bad


def test_a_duplicate_is_judged_by_the_life_that_sent_it() -> None:
    lives = [client("anna", idempotent=False), send("anna", "a", 0), client("anna", idempotent=True)]
    assert found(*lives, poll("carl", (0, "a")), poll("carl", (1, "a"))) == {Kind.DUPLICATE: False}


def test_a_life_that_reads_uncommitted_records_may_read_what_is_aborted() -> None:
    sent = transaction("anna", "t1", send("anna", "a", 0), decision="abort")
    uncommitted, committed = (client("carl", isolation=f"read_{level}") for level in ("uncommitted", "committed"))
    reads = [assign("carl", 0), poll("carl", (0, "a"))]
    assert found(*sent, uncommitted, *reads, committed, assign("carl", 0)) == {}
    assert found(*sent, committed, *reads, uncommitted, assign("carl", 0)) == {Kind.ABORTED_READ: True}


def test_who_is_started_again_has_no_place_until_it_reads() -> None:
    sent = [send("anna", value, offset) for offset, value in enumerate("abcd")]
    everything = poll("dora", (0, "a"), (1, "b"), (2, "c"), (3, "d"))
    for position, value in ((0, "a"), (3, "d")):
        lives = [client("carl"), poll("carl", (1, "b")), client("carl"), poll("carl", (position, value))]
        assert found(*sent, everything, *lives) == {}


def test_a_client_line_that_comes_late_is_for_the_first_life_too() -> None:
    lines: list[Line] = [send("anna", "a", 0), send("anna", "b", 1), client("anna", acks=1)]
    assert found(*lines, assign("carl", 0), poll("carl", (1, "b")))[Kind.LOST_WRITE] is False


def test_lives_on_two_clocks_are_not_compared() -> None:
    """A machine was started again, and its clock with it."""
    members = [client("carl", group="kitchen", clock="first boot"), client("dora", group="kitchen", clock="first boot")]
    sent = [send("anna", value, offset) for offset, value in enumerate("abcd")]
    read = [assign("carl", 0, how="rebalance"), poll("carl", (0, "a"), (1, "b"), (2, "c"), (3, "d"))]
    later = client("carl", group="kitchen", clock="second boot")
    for offset in (1, 4):
        commits = [commit("carl", 2), later, commit("carl", offset, began_us=1)]
        assert found(*members, *sent, *read, *commits, assign("dora", offset, how="rebalance")) == {}


def test_a_read_of_a_first_life_is_not_timed_by_the_clock_of_a_second() -> None:
    sent = [begin("anna", "t1", began_us=900), send("anna", "a", 0, transaction="t1", began_us=901)]
    asked = end("anna", "t1", began_us=1000)
    boots = [client("carl", clock=f"{boot} boot") for boot in ("first", "second")]
    reads = [boots[0], poll("carl", (0, "a"), began_us=950), boots[1], assign("carl", 0)]
    assert found(client("anna", clock="second boot"), *sent, asked, *reads) == {}
    assert found(client("anna", clock="first boot"), *sent, asked, *reads) == {Kind.UNCOMMITTED_READ: True}
