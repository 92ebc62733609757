"""The end of a log is gone: somebody read it, and whoever looked last did not find it."""

from __future__ import annotations

import pytest
from tests.history.planting import Line, assign, client, end, found, poll, revoke, send, trim, verdict

from strandline.history.verdict import Kind

CLOCKS = [client(process, clock="here") for process in ("anna", "carl", "dora")]
READ = [*CLOCKS, send("anna", "a", 0), send("anna", "b", 1), assign("carl", 0), poll("carl", (0, "a"), (1, "b"))]
LOOKS = [assign("dora", "beginning"), poll("dora", (0, "a")), poll("dora")]
LOST = {Kind.LOST_WRITE: True}


def to_end(*lines: Line, may_delete: bool = False) -> dict[Kind, bool]:
    return found(*lines, is_read_to_end=True, may_delete=may_delete)


def test_the_last_one_to_look_does_not_find_what_was_read() -> None:
    told = verdict(*READ, *LOOKS, is_read_to_end=True)
    assert told.bad_kinds == {Kind.LOST_WRITE} == told.kinds
    (anomaly,) = told.findings[Kind.LOST_WRITE].evidence
    assert (anomaly.offsets, anomaly.values, anomaly.operations) == ((1,), ("b",), (7, 10))
    assert anomaly.sentence == (
        "'b' was read by carl at offset 1 of orders-0 and is gone:"
        " dora looked last, from offset 1 on, and found nothing"
    )


def test_a_log_that_is_empty_again() -> None:
    assert to_end(*READ, LOOKS[0], LOOKS[2]) == LOST


def test_the_end_of_a_log_whose_beginning_was_trimmed() -> None:
    assert to_end(*READ, trim("admin", 1), LOOKS[0], LOOKS[2]) == LOST


def test_the_same_reader_looks_again() -> None:
    assert to_end(*READ, poll("carl"), assign("carl", 0, how="seek"), poll("carl", (0, "a")), poll("carl")) == LOST


def test_without_the_promise_that_somebody_read_to_the_end_it_is_late() -> None:
    assert found(*READ, *LOOKS) == {}


def test_what_may_be_deleted_is_not_lost() -> None:
    assert to_end(*READ, *LOOKS, may_delete=True) == {Kind.LOST_WRITE: False}
    assert to_end(*READ, trim("admin", 2), *LOOKS) == {}
    assert to_end(client("anna", acks=1), *READ[1:], *LOOKS) == {Kind.LOST_WRITE: False}


SOUND = {
    "it-finds-all": [LOOKS[0], poll("dora", (0, "a"), (1, "b")), poll("dora")],
    "its-place-was-trimmed-away": [trim("admin", 1), assign("dora", 0), poll("dora")],
    "it-stops-early": LOOKS[:2],
    "it-begins-later": [assign("dora", 2), poll("dora")],
    "it-begins-at-the-end": [assign("dora", "end"), poll("dora")],
    "nobody-knows-where-it-begins": [assign("dora", None), poll("dora")],
    "its-partition-is-taken-away-before-it-looks": [*LOOKS[:2], revoke("dora"), LOOKS[2]],
    "somebody-reads-it-later": [*LOOKS, assign("carl", 1, how="seek"), poll("carl", (1, "b"))],
    "somebody-stops-early-later": [*LOOKS, assign("carl", 0, how="seek"), poll("carl", (0, "a"))],
    "its-poll-failed": [*LOOKS[:2], poll("dora", outcome="fail")],
    "nobody-knows-how-its-poll-ended": [*LOOKS[:2], poll("dora", outcome="unknown")],
    "its-group-may-have-moved-it": [("assign", {"process": "dora", "how": "subscribe"}), *LOOKS[1:]],
    "it-has-another-clock": [client("dora", clock="there"), *LOOKS],
}


@pytest.mark.parametrize("looks", SOUND.values(), ids=SOUND)
def test_who_is_not_the_last_to_look_proves_nothing(looks: list[Line]) -> None:
    assert to_end(*READ, *looks) == {}


def test_who_finds_something_after_it_had_found_nothing_has_stopped_early() -> None:
    """Elsewhere, but who polls has looked at all of its partitions: it may not have come to the others yet."""
    sent, read = send("anna", "x", 0, 1), poll("carl", (0, "x"), partition=1)
    both = [LOOKS[0], assign("dora", "beginning", 1), poll("dora")]
    found_there = poll("dora", (0, "x"), partition=1)
    assert to_end(*READ, sent, read, *both, found_there) == {}
    assert to_end(*READ, sent, read, *both, found_there, poll("dora")) == LOST


def test_a_poll_that_is_under_way_while_it_is_read_proves_nothing() -> None:
    sent = [send("anna", value, offset, began_us=1, ended_us=2) for offset, value in enumerate("ab")]
    read = [assign("carl", 0, began_us=3), poll("carl", (0, "a"), (1, "b"), began_us=4, ended_us=20)]
    looks = [assign("dora", 0, began_us=3), poll("dora", began_us=10, ended_us=30)]
    assert to_end(*CLOCKS, *sent, *read, *looks) == {}


def test_who_was_given_the_partition_before_another_read_it_may_have_lost_it_unawares() -> None:
    """A member that was cut off polls on in vain, while another has its partitions."""
    given, read, looks = assign("dora", 0, how="rebalance"), READ, LOOKS[1:]
    assert to_end(*read[:5], given, *read[5:], *looks) == {}
    assert to_end(*read, given, *looks) == LOST


def test_what_readers_of_uncommitted_records_found_none_of_them_finds() -> None:
    both = [client(process, isolation="read_uncommitted") for process in ("carl", "dora")]
    assert to_end(*READ[:3], *both, *READ[3:], *LOOKS) == LOST


def test_an_aborted_transaction_is_not_missed() -> None:
    both = [client(process, isolation="read_uncommitted") for process in ("carl",)]
    sent = [send("anna", "a", 0), send("anna", "b", 1, transaction="t1"), end("anna", "t1", "abort")]
    assert to_end(*CLOCKS, *both, *sent, *READ[5:], *LOOKS) == {}
