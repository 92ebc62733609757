"""A value that was sent more than once: which of them a record is, its offset says where that was acknowledged."""

from __future__ import annotations

import pytest
from tests.history.planting import Line, assign, begin, client, end, found, poll, send, transaction, verdict

from strandline.history.verdict import Kind

SILENCE_US = 6_000_000
CLOCKS = [client(process, clock="here") for process in ("anna", "bert", "carl")]
READS_ALL = client("dora", clock="here", isolation="read_uncommitted")
SENT = [send("anna", "x", 0), send("anna", "a", 1), send("anna", "a", 2), send("anna", "y", 3)]
SKIPS = [assign("carl", "beginning"), poll("carl", (0, "x")), poll("carl", (3, "y"))]
ALL = [assign("dora", "beginning"), poll("dora", (0, "x"), (1, "a"), (2, "a"), (3, "y"))]


@pytest.mark.parametrize("reader", [client("dora", clock="here"), READS_ALL], ids=["committed", "uncommitted"])
def test_who_reads_it_hides_nobody_elses_skip(reader: Line) -> None:
    lines = [*CLOCKS, reader, *SENT, *ALL, *SKIPS]
    assert found(*lines) == {Kind.POLL_SKIP: True}


def test_what_was_aborted_is_no_skip_whoever_read_it() -> None:
    aborted = transaction("bert", "t1", send("bert", "a", 1), send("bert", "a", 2), decision="abort")
    assert found(*CLOCKS, READS_ALL, SENT[0], *aborted, SENT[3], *ALL, *SKIPS) == {}


def test_nor_is_what_may_have_been_written_in_place_of_it() -> None:
    """An acknowledgement by the leader alone says nothing of what lies there in the end."""
    replaced = [client("anna", clock="here", acks=1), send("anna", "a", 1), begin("bert", "t1")]
    unknown = [send("bert", "a", transaction="t1", outcome="unknown"), end("bert", "t1", "abort")]
    read = [assign("dora", 0), poll("dora", (0, "x"), (1, "a"), (3, "y"))]
    lines = [*CLOCKS, READS_ALL, send("emil", "x", 0), *replaced, *unknown, send("emil", "y", 3), *read, *SKIPS]
    assert found(*lines, is_read_to_end=True) == {}


def test_one_of_them_was_aborted_and_is_read_where_it_was_acknowledged() -> None:
    aborted = transaction("bert", "t1", send("bert", "a", 0), decision="abort")
    committed = transaction("bert", "t2", send("bert", "a", 2))
    lines = [*CLOCKS, *aborted, *committed, assign("carl", 0)]
    assert found(*lines, poll("carl", (0, "a"), (2, "a"))) == {Kind.ABORTED_READ: True}
    assert found(*lines, poll("carl", (2, "a")), is_read_to_end=True) == {}


def test_where_it_was_read_its_transaction_was_committed() -> None:
    """Then all of it must be there."""
    sent = [send("bert", "a", 0, transaction="t1"), send("bert", "b", 1, transaction="t1")]
    lines = [*CLOCKS, *sent, end("bert", "t1", outcome="unknown"), send("anna", "a", 3), send("anna", "c", 4)]
    reads = [assign("carl", 0), poll("carl", (0, "a"), (3, "a"), (4, "c"))]
    assert Kind.LOST_WRITE in found(*lines, *reads)
    assert found(*lines, assign("carl", 2), *reads[1:0], poll("carl", (3, "a"), (4, "c"))) == {}


def test_a_tail_that_is_lost() -> None:
    lines = [*CLOCKS, *SENT[:3], assign("bert", 0), poll("bert", (0, "x"), (1, "a"), (2, "a"))]
    looks = [assign("carl", 0), poll("carl", (0, "x")), poll("carl")]
    told = verdict(*lines, *looks, is_read_to_end=True)
    assert told.bad_kinds == {Kind.LOST_WRITE} == told.kinds
    assert [anomaly.offsets for anomaly in told.findings[Kind.LOST_WRITE].evidence] == [(1,), (2,)]


def test_a_tail_of_which_nobody_knows_whose_it_is() -> None:
    sent = [SENT[0], send("anna", "a", outcome="unknown"), send("anna", "a", outcome="unknown")]
    looks = [assign("carl", 0), poll("carl", (0, "x")), poll("carl")]
    read = [assign("bert", 0), poll("bert", (0, "x"), (1, "a"))]
    assert found(*CLOCKS, *sent, *read, *looks, is_read_to_end=True) == {}


def test_a_stable_offset_that_no_longer_moves() -> None:
    looks = [assign("carl", 0), poll("carl", (0, "x")), poll("carl", began_us=1000, ended_us=1000 + SILENCE_US)]
    told = verdict(*CLOCKS, READS_ALL, *SENT, *ALL, *looks, is_read_to_end=True)
    assert told.bad_kinds == {Kind.UNSEEN} == told.kinds
    assert [anomaly.offsets for anomaly in told.findings[Kind.UNSEEN].evidence] == [(1,), (2,), (3,)]


def test_an_open_transaction_may_lie_where_nobody_read() -> None:
    """Its value lies elsewhere, sent by another."""
    hidden = [begin("bert", "t1"), send("bert", "x", transaction="t1", outcome="unknown")]
    read = [assign("dora", 2), poll("dora", (2, "a"), (3, "y"))]
    looks = [assign("carl", 0), poll("carl", (0, "x")), poll("carl", began_us=1000, ended_us=1000 + SILENCE_US)]
    lines = [*CLOCKS, READS_ALL, SENT[0], *hidden, *SENT[2:], *read, *looks]
    assert found(*lines, is_read_to_end=True, is_every_writer_recorded=True) == {}


def test_a_record_is_known_by_where_it_was_acknowledged() -> None:
    told = verdict(*SENT[1:3], assign("carl", 1), poll("carl", (1, "a"), (2, "a")), is_read_to_end=True)
    assert told.is_sound, told.void_because
    assert told.counts["records_recognised"] == 2


def test_a_record_that_two_were_told_of_is_nobodys() -> None:
    """And of two records at one place one is not there."""
    told = verdict(send("anna", "a", 1), send("bert", "a", 1), assign("carl", 1), poll("carl", (1, "a")))
    assert told.counts["records_recognised"] == 0
    assert told.bad_kinds == {Kind.INCONSISTENT_OFFSETS} == told.kinds
    (anomaly,) = told.findings[Kind.INCONSISTENT_OFFSETS].evidence
    assert (anomaly.offsets, anomaly.processes, anomaly.operations) == ((1,), ("anna", "bert"), (1, 2))
    assert anomaly.sentence == (
        "orders-0 holds one record at offset 1, and 2 were acknowledged there that have the value 'a': to anna, bert"
    )


def test_one_of_them_was_acknowledged_by_its_leader_alone_and_replaced() -> None:
    lines = [client("anna", acks=1), send("anna", "a", 1), send("bert", "a", 1), assign("carl", 1)]
    assert found(*lines, poll("carl", (1, "a"))) == {Kind.INCONSISTENT_OFFSETS: False}
    assert found(client("bert", acks=1), *lines, poll("carl", (1, "a"))) == {Kind.INCONSISTENT_OFFSETS: False}
    elsewhere = [send("anna", "a", 0), send("anna", "a", 0, 1)]
    assert found(*elsewhere, poll("carl", (0, "a")), poll("carl", (0, "a"), partition=1)) == {}


# A value that lies at more offsets than it was sent.

TWICE = [send("anna", "a", 0), send("bert", "a", 1)]
THRICE = [assign("carl", 0), poll("carl", (0, "a"), (1, "a"), (2, "a"))]


def test_a_value_that_was_sent_twice_and_lies_there_thrice() -> None:
    told = verdict(*TWICE, *THRICE, is_every_writer_recorded=True)
    assert told.bad_kinds == {Kind.DUPLICATE} == told.kinds
    (anomaly,) = told.findings[Kind.DUPLICATE].evidence
    assert (anomaly.offsets, anomaly.operations) == ((0, 1, 2), (1, 2, 4))
    assert anomaly.sentence == "'a' was sent 2 times to orders-0 and lies there at offsets 0, 1, 2"
    assert found(*TWICE, *THRICE) == {}, "others may have sent it too"


def test_one_of_its_producers_may_have_written_it_again() -> None:
    lines = [client("bert", idempotent=False), *TWICE, *THRICE]
    assert found(*lines, is_every_writer_recorded=True) == {Kind.DUPLICATE: False}


@pytest.mark.parametrize("outcome", ["unknown", "fail"])
@pytest.mark.parametrize("partition", [0, 1, None])
def test_it_may_have_been_sent_thrice(outcome: str, partition: int | None) -> None:
    lines = [*TWICE, send("emil", "a", partition=partition, outcome=outcome), *THRICE]
    may_be_there = outcome == "unknown" and partition != 1
    assert (Kind.DUPLICATE in found(*lines, is_every_writer_recorded=True)) is not may_be_there


def test_where_its_leader_alone_says_that_it_lies_it_may_not() -> None:
    lines = [client("bert", acks=1), send("anna", "a", 0), send("bert", "a", 3), assign("carl", 0)]
    told = verdict(*lines, poll("carl", (0, "a"), (1, "a")), is_every_writer_recorded=True)
    assert Kind.DUPLICATE not in told.kinds


# What failed was not sent.


def test_a_send_that_failed_and_was_tried_again_was_sent_once() -> None:
    for sent in (
        [send("anna", "a", outcome="fail"), send("anna", "a")],
        [send("anna", "a"), send("anna", "a", outcome="fail")],
    ):
        told = verdict(*sent, assign("carl", 0), poll("carl", (0, "a")), is_read_to_end=True)
        assert told.is_sound, told.void_because
        assert told.counts["values_sent_twice"] == 0
        assert found(*sent, assign("carl", 0), poll("carl", (0, "a"), (1, "a"))) == {Kind.DUPLICATE: True}


def test_what_failed_each_time_it_was_tried_must_not_be_read() -> None:
    sent = [send("anna", "a", outcome="fail")] * 2
    assert found(*sent, assign("carl", 0), poll("carl", (0, "a"))) == {Kind.ABORTED_READ: True}
