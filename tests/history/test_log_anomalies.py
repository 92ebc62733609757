"""Anomalies of the log and of what is missing from it, each planted, and beside it the history that is in order."""

from __future__ import annotations

from typing import Any

import pytest
from tests.history.planting import (
    TOPIC,
    Line,
    assign,
    client,
    found,
    poll,
    revoke,
    send,
    transaction,
    trim,
    verdict,
)

from strandline.history.verdict import Kind

CLEAN: list[Line] = [
    send("anna", "a", 0),
    send("anna", "b", 1),
    assign("carl", "beginning"),
    poll("carl", (0, "a"), (1, "b")),
]


def test_a_clean_history() -> None:
    told = verdict(*CLEAN, is_read_to_end=True, is_every_writer_recorded=True)
    assert told.findings == {}
    assert told.is_sound
    assert str(told) == "no anomalies"
    assert told.operations == {("send", "ok"): 2, ("assign", "ok"): 1, ("poll", "ok"): 1}
    assert told.operation_count == 4
    counts = {name: count for name, count in told.counts.items() if count}
    assert counts == {"processes": 2, "partitions": 1, "records_read": 2, "records_recognised": 2, "acknowledged": 2}


def test_an_empty_history() -> None:
    assert found() == {}


# inconsistent-offsets


def test_two_readers_saw_different_values_at_an_offset() -> None:
    told = verdict(*CLEAN, send("bert", "x", outcome="unknown"), assign("dora", 0), poll("dora", (0, "a"), (1, "x")))
    assert told.bad_kinds == {Kind.INCONSISTENT_OFFSETS}
    (anomaly,) = told.findings[Kind.INCONSISTENT_OFFSETS].evidence
    assert (str(anomaly.partition), anomaly.offsets, anomaly.values) == ("orders-0", (1,), ("b", "x"))
    assert anomaly.processes == ("carl", "dora")
    assert anomaly.operations == (4, 7)
    assert anomaly.sentence == "orders-0 holds several values at offset 1: 'b' read by carl, 'x' read by dora"


def test_an_acknowledged_offset_holds_another_value() -> None:
    lines = [*CLEAN, send("bert", "x", 1)]
    assert found(*lines) == {Kind.INCONSISTENT_OFFSETS: True, Kind.LOST_WRITE: True}


def test_what_only_the_leader_acknowledged_may_be_replaced() -> None:
    """acks=1: the next leader knows nothing of it, and gives its offset to another."""
    lines = [client("bert", acks=1), *CLEAN, send("bert", "x", 1)]
    assert found(*lines) == {Kind.INCONSISTENT_OFFSETS: False, Kind.LOST_WRITE: False}


def test_the_same_offset_in_two_partitions_is_fine() -> None:
    assert found(*CLEAN, send("bert", "x", 1, 1), poll("carl", (1, "x"), partition=1)) == {}


# lost-write


def test_a_write_that_everybody_came_past_is_lost() -> None:
    told = verdict(*CLEAN[:2], send("anna", "c", 2), assign("carl", "beginning"), poll("carl", (0, "a"), (2, "c")))
    assert told.bad_kinds == {Kind.LOST_WRITE, Kind.INTERNAL_POLL_SKIP}
    (lost,) = told.findings[Kind.LOST_WRITE].evidence
    assert (lost.offsets, lost.values, lost.processes, lost.operations) == ((1,), ("b",), ("anna",), (2,))
    assert "readers came past it to offset 2" in lost.sentence


def test_another_record_at_its_offset_is_told_as_such() -> None:
    told = verdict(send("anna", "a", 0), send("bert", "x", 0), assign("carl", "beginning"), poll("carl", (0, "a")))
    (lost,) = told.findings[Kind.LOST_WRITE].evidence
    assert "'x' was acknowledged to bert at offset 0" in lost.sentence
    assert lost.sentence.endswith("and is gone: readers found another record there and nobody read it")


def test_the_first_record_can_be_lost() -> None:
    """Nobody saw a gap, but somebody began before it."""
    lines = [*CLEAN[:2], assign("carl", "beginning"), poll("carl", (1, "b"))]
    assert found(*lines) == {Kind.LOST_WRITE: True, Kind.POLL_SKIP: True}


def test_whoever_began_later_did_not_come_past_it() -> None:
    """auto.offset.reset=latest: that nobody read it does not mean that it is gone."""
    lines = [*CLEAN[:2], assign("carl", "end"), poll("carl", (1, "b"))]
    assert found(*lines) == {Kind.UNSEEN: False}


def test_two_readers_with_a_hole_between_them() -> None:
    sent = [send("anna", value, offset) for offset, value in enumerate("abc")]
    lines = [*sent, assign("carl", 0), poll("carl", (0, "a")), assign("dora", 2), poll("dora", (2, "c"))]
    assert found(*lines) == {Kind.UNSEEN: False}


def test_a_write_of_unknown_outcome_may_be_missing() -> None:
    assert found(*CLEAN, send("bert", "x", outcome="unknown")) == {}
    assert found(*CLEAN, send("bert", "x", outcome="info")) == {}


def test_a_write_of_unknown_outcome_may_be_there() -> None:
    assert found(*CLEAN, send("bert", "x", outcome="unknown"), poll("carl", (2, "x"))) == {}


def test_a_failed_write_may_be_missing() -> None:
    assert found(*CLEAN, send("bert", "x", outcome="fail"), send("bert", "y", partition=None, outcome="fail")) == {}


def test_what_was_trimmed_is_not_lost() -> None:
    lines = [*CLEAN[:2], trim("admin", 1), assign("carl", "beginning"), poll("carl", (1, "b"))]
    assert found(*lines, is_read_to_end=True) == {}


def test_who_was_to_read_what_was_trimmed_may_go_on_anywhere_after() -> None:
    """auto.offset.reset=latest: it did not come past what lies between."""
    sent = [send("anna", value, offset) for offset, value in enumerate("abcd")]
    trimmed = trim("admin", 2)
    assert found(*sent, trimmed, assign("carl", 1), poll("carl", (3, "d"))) == {Kind.UNSEEN: False}
    read_on = [assign("carl", 0), poll("carl", (0, "a")), trimmed, poll("carl", (3, "d"))]
    assert found(*sent, *read_on) == {Kind.UNSEEN: False}
    lost = {Kind.LOST_WRITE: True, Kind.POLL_SKIP: True}
    assert found(*sent, trimmed, assign("carl", 2), poll("carl", (3, "d"))) == lost
    assert found(*sent, trimmed, assign("carl", "beginning"), poll("carl", (3, "d"))) == lost
    amid_a_poll = [assign("carl", 0), poll("carl", (0, "a"), (3, "d")), trimmed]
    assert found(*sent, *amid_a_poll) == {Kind.LOST_WRITE: True, Kind.INTERNAL_POLL_SKIP: True}


def test_what_was_trimmed_later_was_lost_before() -> None:
    """By the clock that both name. What comes after the trim is excused, as is what nobody can put in order."""
    clock = [client(process, clock="wall") for process in ("carl", "admin")]
    sent = [send("anna", value, offset) for offset, value in enumerate("abc")]
    skips = [assign("carl", "beginning"), poll("carl", (0, "a"), (2, "c"))]
    lost = {Kind.LOST_WRITE: True, Kind.INTERNAL_POLL_SKIP: True}
    assert found(*clock, *sent, *skips, trim("admin", 3)) == lost
    assert found(*clock, *sent, *skips, trim("admin", 3, outcome="unknown")) == lost
    assert found(*clock, *sent, *skips, trim("admin", 2), poll("carl", (3, "d")), send("anna", "d", 3)) == lost
    assert found(*sent, *skips, trim("admin", 3)) == {}
    assert found(*clock, *sent, trim("admin", 2), assign("carl", 0), poll("carl", (2, "c"))) == {}


def test_who_read_past_a_record_before_it_was_trimmed_counts_though_it_read_on() -> None:
    clock = [client(process, clock="wall") for process in ("carl", "admin")]
    sent = [send("anna", value, offset) for offset, value in enumerate("abcd")]
    read = [assign("carl", 0), poll("carl", (0, "a")), poll("carl", (2, "c")), trim("admin", 3), poll("carl", (3, "d"))]
    assert found(*clock, *sent, *read) == {Kind.LOST_WRITE: True, Kind.POLL_SKIP: True}


def test_a_record_of_a_commit_whose_partition_nobody_knows_must_be_somewhere() -> None:
    parts = [send("anna", "a", 0), send("anna", "b", partition=None, outcome="unknown")]
    lines = [client("anna", acks="all"), *transaction("anna", "t", *parts), assign("carl", 0), poll("carl", (0, "a"))]
    assert found(*lines, is_read_to_end=True) == {Kind.UNSEEN: True}
    assert found(*lines) == {Kind.UNSEEN: False}
    assert found(*lines, poll("dora", (5, "b"), partition=3), is_read_to_end=True) == {}
    assert found(*lines, trim("admin", 2), is_read_to_end=True) == {}
    assert found(*lines, trim("admin", 1), is_read_to_end=True) == {Kind.UNSEEN: True}


def test_retention_may_take_records() -> None:
    lines = [*CLEAN[:2], assign("carl", "beginning"), poll("carl", (1, "b"))]
    assert found(*lines, may_delete=True) == {Kind.LOST_WRITE: False, Kind.POLL_SKIP: False}
    for topics, is_bad in (({TOPIC}, False), ({"others"}, True)):
        topic_expectation = {"may_delete_topics": frozenset(topics)}
        assert found(*lines, **topic_expectation) == {Kind.LOST_WRITE: is_bad, Kind.POLL_SKIP: is_bad}


def test_gaps_in_offsets_are_normal() -> None:
    """Markers of transactions take offsets."""
    assert found(send("anna", "a", 0), send("anna", "b", 7), assign("carl", 0), poll("carl", (0, "a"), (7, "b"))) == {}


# unseen


def test_what_nobody_read_is_bad_only_if_somebody_read_to_the_end() -> None:
    lines = [*CLEAN, send("anna", "late", 2)]
    assert found(*lines) == {Kind.UNSEEN: False}
    assert found(*lines, is_read_to_end=True) == {Kind.UNSEEN: True}
    assert found(client("anna", acks=0), *lines, is_read_to_end=True) == {Kind.UNSEEN: False}


# torn-transaction


def test_a_transaction_of_which_a_part_is_lost() -> None:
    lines = [
        *transaction("anna", "t1", send("anna", "a", 0), send("anna", "b", 0, 1)),
        send("anna", "later", 2, 1),
        assign("carl", 0),
        poll("carl", (0, "a")),
        assign("carl", 0, 1),
        poll("carl", (2, "later"), partition=1),
    ]
    assert found(*lines) == {Kind.LOST_WRITE: True, Kind.TORN_TRANSACTION: True, Kind.POLL_SKIP: True}


@pytest.mark.parametrize("outcome", ["ok", "unknown"])
def test_a_whole_transaction(outcome: str) -> None:
    lines = [
        *transaction("anna", "t1", send("anna", "a", 0), send("anna", "b", 0, 1), outcome=outcome),
        assign("carl", 0),
        poll("carl", (0, "a")),
        assign("carl", 0, 1),
        poll("carl", (0, "b"), partition=1),
    ]
    assert found(*lines, is_read_to_end=True) == {}


def test_a_commit_of_unknown_outcome_happened_if_one_of_its_records_was_read() -> None:
    lines = [
        *transaction("anna", "t1", send("anna", "a", 0), send("anna", "b", 0, 1), outcome="unknown"),
        send("anna", "later", 2, 1),
        assign("dora", 0, 1),
        poll("dora", (2, "later"), partition=1),
    ]
    assert found(*lines) == {}
    torn = found(*lines, poll("carl", (0, "a")))
    assert torn == {Kind.LOST_WRITE: True, Kind.TORN_TRANSACTION: True, Kind.POLL_SKIP: True}


def test_a_send_of_unknown_outcome_in_an_acknowledged_commit_must_be_there() -> None:
    """A client waits for its sends before it asks for the commit, and asks for none if one went wrong."""
    sends = send("anna", "a", 0), send("anna", "b", outcome="unknown")
    reads = assign("carl", 0), poll("carl", (0, "a"))
    told = verdict(*transaction("anna", "t1", *sends), *reads, is_read_to_end=True)
    assert told.bad_kinds == {Kind.UNSEEN} == told.kinds
    (anomaly,) = told.findings[Kind.UNSEEN].evidence
    assert anomaly.sentence == (
        "'b' was sent by anna to orders-0 in t1, whose commit was acknowledged, and nobody read it"
    )
    assert found(*transaction("anna", "t1", *sends), *reads) == {Kind.UNSEEN: False}
    assert found(*transaction("anna", "t1", *sends), *reads, poll("carl", (1, "b")), is_read_to_end=True) == {}
    for ends in ({"outcome": "unknown"}, {"decision": "abort"}):
        assert Kind.UNSEEN not in found(*transaction("anna", "t1", *sends, **ends), *reads, is_read_to_end=True)


def test_what_may_have_lain_below_the_trim_is_not_missed() -> None:
    """Nobody knows its offset."""
    sends = transaction("anna", "t1", send("anna", "a", 3), send("anna", "b", outcome="unknown"))
    lines = [*sends, send("anna", "c"), trim("admin", 3), assign("carl", 3), poll("carl", (3, "a"))]
    assert found(*lines, is_read_to_end=True) == {}


def test_a_trim_excuses_nothing_that_was_sent_after_it() -> None:
    """That came to lie at or above its offset. Who has another clock may have sent it before."""
    clock = [client(process, clock="wall") for process in ("anna", "admin")]
    read = [assign("carl", 3), poll("carl", (3, "c"))]
    unknown = [send("anna", "x", partition=None, outcome="unknown")]
    for later in ([send("anna", "x")], transaction("anna", "t1", *unknown)):
        lines = [trim("admin", 3), *later, send("anna", "c", 3), *read]
        assert found(*clock, *lines, is_read_to_end=True) == {Kind.UNSEEN: True}
        assert found(clock[0], *lines, is_read_to_end=True) == {}
        assert found(*clock, trim("admin", 3, outcome="unknown"), *lines, is_read_to_end=True) == {}
        assert found(*clock, *lines, trim("admin", 1), is_read_to_end=True) == {}
        at_a_time = trim("admin", 3, began_us=1, ended_us=100)
        assert found(*clock, at_a_time, *lines[1:], is_read_to_end=True) == {}


def test_a_trim_excuses_nothing_where_others_lay_below_it() -> None:
    """Whenever it was sent, and by whatever clock."""
    lines = [send("anna", "a", 0), send("anna", "x"), trim("admin", 1), send("anna", "c", 1)]
    read = [assign("carl", 1), poll("carl", (1, "c"))]
    assert found(*lines, *read, is_read_to_end=True) == {Kind.UNSEEN: True}
    assert found(client("bert", acks=1), send("bert", "b", 0), *lines[1:], *read, is_read_to_end=True) == {}
    assert found(*lines, trim("admin", 2), *read, is_read_to_end=True) == {Kind.UNSEEN: True}
    assert found(*lines, trim("admin", 3), *read, is_read_to_end=True) == {}


# duplicate


def test_a_value_at_two_offsets() -> None:
    told = verdict(*CLEAN, poll("carl", (2, "a")))
    assert told.bad_kinds == {Kind.DUPLICATE}
    assert told.findings[Kind.DUPLICATE].evidence[0].offsets == (0, 2)


def test_a_producer_that_is_not_idempotent_may_repeat_itself() -> None:
    assert found(client("anna", idempotent=False), *CLEAN, poll("carl", (2, "a"))) == {Kind.DUPLICATE: False}
    for acks in (0, 1):  # which is never idempotent, though its recorder does not say so
        assert found(client("anna", acks=acks), *CLEAN, poll("carl", (2, "a"))) == {Kind.DUPLICATE: False}


@pytest.mark.parametrize(
    "told", [[{"idempotent": True, "acks": 1}, {"clock": "here"}], [{"idempotent": True}, {"acks": 1}]]
)
def test_who_said_that_it_is_idempotent_is_held_to_it_after_later_lines(told: list[dict[str, Any]]) -> None:
    lines = [*(client("anna", **fields) for fields in told), *CLEAN, poll("carl", (2, "a"))]
    assert found(*lines) == {Kind.DUPLICATE: True}


def test_reading_twice_is_not_writing_twice() -> None:
    assert found(*CLEAN, revoke("carl"), assign("carl", 0), poll("carl", (0, "a"), (1, "b"))) == {}


def test_a_value_that_was_sent_twice_is_not_judged() -> None:
    told = verdict(*CLEAN, send("bert", "a", 2), poll("carl", (2, "a")))
    assert told.findings == {}
    assert told.counts["values_sent_twice"] == 1


def test_where_a_value_was_acknowledged_that_was_sent_twice_it_must_be() -> None:
    """Its offset says which of them it is: whoever comes past needs no value."""
    sent = [send("anna", "a", 0), send("anna", "a", 1), send("anna", "c", 2), assign("carl", 0)]
    told = verdict(*sent, poll("carl", (2, "c")))
    assert told.bad_kinds == {Kind.LOST_WRITE, Kind.POLL_SKIP} == told.kinds
    assert [anomaly.offsets for anomaly in told.findings[Kind.LOST_WRITE].evidence] == [(0,), (1,)]
    assert told.findings[Kind.POLL_SKIP].evidence[0].offsets == (0, 1)
    assert found(*sent, poll("carl", (0, "a"), (2, "c"))) == {Kind.LOST_WRITE: True, Kind.INTERNAL_POLL_SKIP: True}
    assert found(*sent, poll("carl", (0, "a"), (1, "a"), (2, "c")), is_read_to_end=True) == {}
    assert found(*sent[1:], poll("carl", (2, "c")), send("anna", "a", outcome="unknown")) == {
        Kind.LOST_WRITE: True,
        Kind.POLL_SKIP: True,
    }


def test_where_nobody_knows_its_place_a_value_that_was_sent_twice_is_not_missed() -> None:
    lines = [send("anna", "a"), send("anna", "a", outcome="unknown"), send("anna", "c", 2), assign("carl", 0)]
    assert found(*lines, poll("carl", (2, "c")), is_read_to_end=True) == {}
    aborted = transaction("bert", "t1", send("bert", "a", 0), send("bert", "a", 1), decision="abort")
    assert found(*aborted, *lines[2:], poll("carl", (2, "c")), is_read_to_end=True) == {}


def test_a_value_that_was_sent_twice_is_no_part_of_a_transaction_that_was_read() -> None:
    """Another may have been read."""
    parts = transaction("anna", "t1", send("anna", "a", outcome="unknown"), send("anna", "b", 1))
    lines = [send("bert", "a", 0), *parts, send("bert", "c", 2), assign("carl", 0), poll("carl", (0, "a"), (2, "c"))]
    assert found(*lines) == {Kind.LOST_WRITE: True, Kind.INTERNAL_POLL_SKIP: True}


# misplaced, phantom


def test_a_value_in_the_wrong_partition() -> None:
    lines = [*CLEAN, send("anna", "c", outcome="unknown"), poll("carl", (5, "c"), partition=1)]
    assert found(*lines) == {Kind.MISPLACED: True}


def test_a_value_in_two_partitions() -> None:
    """Whichever it was sent to: a client chooses one, and stays with it however often it tries."""
    sent = send("anna", "c", partition=None, outcome="unknown")
    told = verdict(*CLEAN, sent, poll("carl", (2, "c")), poll("carl", (5, "c"), partition=1))
    assert told.bad_kinds == {Kind.MISPLACED} == told.kinds
    (anomaly,) = told.findings[Kind.MISPLACED].evidence
    assert anomaly.sentence == "'c' was sent once by anna and lies in orders-0 at offset 2 and in orders-1 at offset 5"
    assert found(*CLEAN, sent, poll("carl", (2, "c"))) == {}


def test_a_value_that_nobody_sent() -> None:
    lines = [*CLEAN, poll("carl", (2, "?"))]
    assert found(*lines) == {}
    assert verdict(*lines).counts["foreign_records"] == 1
    assert found(*lines, is_every_writer_recorded=True) == {Kind.PHANTOM: True}
