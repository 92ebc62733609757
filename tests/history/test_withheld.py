"""What is committed, was read by somebody who reads all, and is never shown to those who read committed records."""

from __future__ import annotations

import pytest
from tests.history.planting import Line, assign, begin, client, end, found, poll, send, transaction, trim, verdict

from strandline.history.verdict import Kind

SILENCE_US = 6_000_000
CLOCKS = [
    client("anna", clock="here"),
    client("bert", clock="here"),
    client("carl", clock="here", isolation="read_uncommitted"),
    client("dora", clock="here"),
]
READS_ALL = [assign("carl", 0), poll("carl", (0, "a"), (1, "b"), (2, "c"))]
SENT = [send("anna", value, offset) for offset, value in enumerate("abc")]
WITHHELD = {Kind.UNSEEN: True}


def looks(*records: tuple[int, str], position: int | str = 0, **fields: int) -> list[Line]:
    """Dora, from the beginning, and then for six seconds in vain."""
    times = {"began_us": 1000, "ended_us": 1000 + SILENCE_US, **fields}
    read = [poll("dora", *records)] if records else []
    return [assign("dora", position), *read, poll("dora", **times)]


def to_end(*lines: Line, **expectations: bool) -> dict[Kind, bool]:
    return found(*CLOCKS, *lines, is_read_to_end=True, **expectations)


def test_a_stable_offset_that_no_longer_moves() -> None:
    """All were acknowledged, none is in a transaction, and those who read committed records come to the first alone."""
    told = verdict(*CLOCKS, *SENT, *READS_ALL, *looks((0, "a")), is_read_to_end=True)
    assert told.bad_kinds == {Kind.UNSEEN} == told.kinds
    first, _ = told.findings[Kind.UNSEEN].evidence
    assert (first.offsets, first.values, first.processes) == ((1,), ("b",), ("anna", "carl", "dora"))
    assert first.sentence == (
        "'b' was read by carl at offset 1 of orders-0, and no reader of committed records saw it: dora looked last,"
        " from offset 1 on, and no transaction was open"
    )


def test_a_commit_that_one_partition_does_not_show() -> None:
    sent = transaction("anna", "t1", send("anna", "a", 0), send("anna", "b", 0, 1))
    reads = [assign("carl", 0), poll("carl", (0, "a")), assign("carl", 0, 1), poll("carl", (0, "b"), partition=1)]
    there = [assign("dora", 0, 1), *looks((0, "a"))]
    assert to_end(*sent, *reads, *there) == WITHHELD
    shown = [assign("dora", 0, 1), poll("dora", (0, "b"), partition=1), *looks((0, "a"))]
    assert to_end(*sent, *reads, *shown) == {}


def test_a_reader_of_all_that_looks_later_hides_nothing() -> None:
    later = poll("carl", began_us=2000, ended_us=2000 + SILENCE_US)
    assert to_end(*SENT, *READS_ALL, *looks((0, "a")), later) == WITHHELD


def test_what_was_aborted_is_shown_to_nobody() -> None:
    sent = transaction("anna", "t1", send("anna", "b", 1), decision="abort")
    assert to_end(SENT[0], *sent, send("anna", "c", 2), *READS_ALL, *looks((0, "a"))) == WITHHELD
    assert to_end(SENT[0], *sent, *READS_ALL[:1], poll("carl", (0, "a"), (1, "b")), *looks((0, "a"))) == {}


OPEN = {
    "nobody-ended-it": [],
    "nobody-knows-of-its-commit": [end("bert", "t1", outcome="unknown")],
    "nobody-knows-of-its-abort": [end("bert", "t1", "abort", outcome="unknown")],
    "its-commit-failed": [end("bert", "t1", outcome="fail")],
    "its-producer-went-on": [begin("bert", "t2"), end("bert", "t2")],
    "its-end-is-young": [end("bert", "t1", began_us=2_000_000, ended_us=2_000_001)],
    "its-end-has-another-clock": [client("fred", clock="there"), end("fred", "t1")],
}


@pytest.mark.parametrize("ends", OPEN.values(), ids=OPEN)
def test_behind_a_transaction_that_may_be_open_nothing_is_owed(ends: list[Line]) -> None:
    sent = [begin("bert", "t1"), send("bert", "b", 1, transaction="t1"), *ends, SENT[2]]
    assert to_end(SENT[0], *sent, *READS_ALL, *looks((0, "a"))) == {}


@pytest.mark.parametrize("ends", OPEN.values(), ids=OPEN)
@pytest.mark.parametrize("partition", [0, None])
def test_nor_where_an_open_transaction_may_lie(ends: list[Line], partition: int | None) -> None:
    """Nobody knows what became of its only record. That itself may be missed, if the commit was acknowledged."""
    sent = [begin("bert", "t1"), send("bert", "x", partition=partition, transaction="t1", outcome="unknown"), *ends]
    told = verdict(*CLOCKS, *sent, *SENT, *READS_ALL, *looks((0, "a")), is_read_to_end=True)
    assert {value for anomaly in told.anomalies() for value in anomaly.values} <= {"x"}


def test_what_lies_before_an_open_transaction_is_owed() -> None:
    sent = [*SENT[:2], begin("bert", "t1"), send("bert", "c", 2, transaction="t1")]
    assert to_end(*sent, *READS_ALL, *looks((0, "a"))) == WITHHELD


def test_an_open_transaction_of_somebody_else_may_be_in_the_way() -> None:
    """Its record was read, or lies where nobody read."""
    foreign = [SENT[0], SENT[2], *READS_ALL, *looks((0, "a"))]
    assert to_end(*foreign) == {}
    begins_late = [SENT[0], SENT[2], assign("carl", 2), poll("carl", (2, "c")), *looks((0, "a"))]
    assert to_end(*begins_late) == {}
    assert to_end(*begins_late, is_every_writer_recorded=True) == WITHHELD


NOT_OWED = {
    "it-stops-early": looks((0, "a"))[:2],
    "it-begins-later": looks(position=3),
    "its-place-was-trimmed-away": [trim("admin", 3), *looks(position=1)],
    "somebody-reads-on-later": [*looks((0, "a")), poll("carl", (3, "d"), began_us=9000)],
    "another-reader-of-committed-records-saw-it": [poll("emil", (1, "b"), (2, "c")), *looks((0, "a"))],
}


@pytest.mark.parametrize("lines", NOT_OWED.values(), ids=NOT_OWED)
def test_who_is_not_the_last_to_look_was_not_owed_it(lines: list[Line]) -> None:
    told = verdict(*CLOCKS, client("emil", clock="here"), *SENT, *READS_ALL, *lines, is_read_to_end=True)
    assert Kind.UNSEEN not in told.kinds


def test_what_is_not_promised_is_allowed() -> None:
    lines = [*SENT, *READS_ALL, *looks((0, "a"))]
    assert to_end(client("anna", clock="here", acks=1), *lines) == {Kind.UNSEEN: False}
    assert to_end(*lines, may_delete=True) == {Kind.UNSEEN: False}
    assert found(*CLOCKS, *lines) == {}


def test_what_nobody_read_is_not_owed_to_readers_who_are_held_back() -> None:
    """A transaction that its killed producer left open; its record is known, or is that of an unknown writer."""
    for own in ([begin("bert", "t1"), send("bert", "b", 1, transaction="t1")], [begin("bert", "t1")], []):
        assert to_end(SENT[0], *own, SENT[2], *looks((0, "a"))) == {Kind.UNSEEN: False}
    assert to_end(SENT[0], SENT[2], *looks((0, "a")), is_every_writer_recorded=True) == WITHHELD


def test_it_is_owed_where_nothing_holds_them_back() -> None:
    ended = transaction("bert", "t1", send("bert", "b", 1))
    assert to_end(*SENT, *looks((0, "a"))) == WITHHELD
    assert to_end(SENT[0], *ended, send("anna", "c", 3), *looks((0, "a"))) == WITHHELD
    young = end("bert", "t1", began_us=2_000_000, ended_us=2_000_001)
    ends_late = [begin("bert", "t1"), send("bert", "b", 1, transaction="t1"), young]
    assert to_end(SENT[0], *ends_late, SENT[2], *looks((0, "a"))) == {Kind.UNSEEN: False}


def test_or_where_a_reader_of_all_looked_too_or_nobody_did_since() -> None:
    opened = [SENT[0], begin("bert", "t1"), send("bert", "b", 1, transaction="t1"), SENT[2]]
    reads_all = [assign("carl", 0), poll("carl", (0, "a"))]
    in_vain = poll("carl", began_us=900, ended_us=900 + SILENCE_US)
    assert to_end(*opened, *reads_all, in_vain, *looks((0, "a"))) == WITHHELD
    assert to_end(*opened, *looks((0, "a"))[:2]) == WITHHELD
    late = send("anna", "late", 3, began_us=9_000_000, ended_us=9_000_001)
    assert verdict(*CLOCKS, *opened, late, *looks((0, "a")), is_read_to_end=True).findings[Kind.UNSEEN].bad_count == 1


def test_it_is_owed_wherever_it_lay_if_nobody_can_hold_it_back() -> None:
    """Nobody knows its offset; nor, without all writers, whether it lies behind an open transaction of another."""
    lines = [SENT[0], send("anna", "x"), *looks((0, "a"))]
    assert to_end(*lines, is_every_writer_recorded=True) == {Kind.UNSEEN: True}
    assert to_end(*lines) == {Kind.UNSEEN: False}
    open_one = [begin("bert", "t1"), send("bert", "b", 1, transaction="t1")]
    assert to_end(*open_one, *lines, is_every_writer_recorded=True) == {Kind.UNSEEN: False}
