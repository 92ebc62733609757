"""Order of polls and sends, within an operation or transaction and between them."""

from __future__ import annotations

from tests.history.planting import Line, assign, client, found, poll, revoke, send, transaction, verdict

from strandline.history.verdict import Kind

SENT: list[Line] = [send("anna", value, offset) for offset, value in enumerate("abcd")]
ALL = poll("dora", (0, "a"), (1, "b"), (2, "c"), (3, "d"))


# poll-skip


def test_a_consumer_skips() -> None:
    told = verdict(*SENT, ALL, assign("carl", 0), poll("carl", (0, "a")), poll("carl", (3, "d")))
    assert told.bad_kinds == {Kind.POLL_SKIP} == told.kinds
    (anomaly,) = told.findings[Kind.POLL_SKIP].evidence
    assert (anomaly.offsets, anomaly.values, anomaly.processes) == ((1, 2), ("b", "c"), ("carl",))
    assert anomaly.operations == (7, 8)
    assert anomaly.sentence == "carl was at offset 1 of orders-0 and went on at 3, past 1, 2 ('b', 'c')"


def test_a_consumer_skips_within_a_poll() -> None:
    assert found(*SENT, ALL, poll("carl", (0, "a"), (2, "c"))) == {Kind.INTERNAL_POLL_SKIP: True}


def test_a_consumer_skips_within_a_transaction() -> None:
    polls = transaction("bert", "t1", poll("carl", (0, "a")), poll("carl", (2, "c")))
    assert found(*SENT, ALL, *polls) == {Kind.INTERNAL_POLL_SKIP: True}


def test_a_consumer_that_was_moved_may_skip() -> None:
    moves = [assign("carl", 3, how="seek"), assign("carl", None, how="rebalance"), assign("carl", "end")]
    for move in [*moves, revoke("carl"), revoke("carl", partitions=[["orders", 0]])]:
        assert found(*SENT, ALL, poll("carl", (0, "a")), move, poll("carl", (3, "d"))) == {}


def test_another_partition_that_is_given_up_is_no_excuse() -> None:
    lines = [poll("carl", (0, "a")), revoke("carl", partitions=[["orders", 1]]), poll("carl", (3, "d"))]
    assert found(*SENT, ALL, *lines) == {Kind.POLL_SKIP: True}


def test_a_subscribed_consumer_may_have_been_moved() -> None:
    subscribed = ("assign", {"process": "carl", "how": "subscribe"})
    lines = [*SENT, ALL, subscribed, poll("carl", (0, "a")), poll("carl", (3, "d")), poll("carl", (1, "b"))]
    assert found(*lines) == {Kind.POLL_SKIP: False, Kind.NONMONOTONIC_POLL: False}


def test_no_group_moves_a_consumer_amid_a_poll() -> None:
    subscribed = ("assign", {"process": "carl", "how": "subscribe"})
    lines = [*SENT, ALL, subscribed, poll("carl", (0, "a"), (3, "d"), (1, "b"))]
    assert found(*lines) == {Kind.INTERNAL_POLL_SKIP: True, Kind.INTERNAL_NONMONOTONIC_POLL: True}


def test_a_group_may_move_a_consumer_amid_a_transaction() -> None:
    subscribed = ("assign", {"process": "carl", "how": "subscribe"})
    polls = transaction("bert", "t1", poll("carl", (0, "a")), poll("carl", (2, "c")))
    assert found(*SENT, ALL, subscribed, *polls) == {Kind.INTERNAL_POLL_SKIP: False}


def test_a_consumer_whose_rebalances_are_noted_may_not() -> None:
    lines = [*SENT, ALL, assign("carl", 0, how="rebalance"), poll("carl", (0, "a")), poll("carl", (3, "d"))]
    assert found(*lines) == {Kind.POLL_SKIP: True}


def test_an_assignment_that_failed_excuses_nothing() -> None:
    lines = [*SENT, ALL, poll("carl", (0, "a")), assign("carl", 3, outcome="fail"), poll("carl", (3, "d"))]
    assert found(*lines) == {Kind.POLL_SKIP: True}


def test_an_assignment_of_unknown_outcome_may_have_moved_it_or_not() -> None:
    for how in ("assign", "seek", "rebalance"):
        for position, offset in ((0, 1), (0, 0), (3, 3), ("beginning", 1), (None, 3)):
            moved = assign("carl", position, how=how, outcome="unknown")
            reads = [assign("carl", 0), poll("carl", (0, "a")), moved, poll("carl", (offset, "abcd"[offset]))]
            assert found(*SENT, ALL, *reads) == {}
            further = 3 if offset < 2 else 1
            assert found(*SENT, ALL, *reads, poll("carl", (further, "abcd"[further]))) != {}


def test_who_may_not_have_left_its_group_may_still_be_moved_by_it() -> None:
    subscribed = ("assign", {"process": "carl", "how": "subscribe"})
    for outcome, is_bad in (("unknown", False), ("ok", True)):
        chosen = assign("carl", 0, outcome=outcome)
        reads = [subscribed, poll("carl", (0, "a")), chosen, poll("carl", (0, "a")), poll("carl", (3, "d"))]
        assert found(*SENT, ALL, *reads) == {Kind.POLL_SKIP: is_bad}


# nonmonotonic-poll


def test_a_consumer_goes_back() -> None:
    told = verdict(*SENT, ALL, poll("carl", (1, "b")), poll("carl", (1, "b")))
    assert told.bad_kinds == {Kind.NONMONOTONIC_POLL} == told.kinds
    assert told.findings[Kind.NONMONOTONIC_POLL].evidence[0].offsets == (2, 1)


def test_a_consumer_goes_back_within_a_poll() -> None:
    assert found(*SENT, ALL, poll("carl", (1, "b"), (0, "a"))) == {Kind.INTERNAL_NONMONOTONIC_POLL: True}


def test_a_consumer_that_seeks_goes_back() -> None:
    assert found(*SENT, ALL, poll("carl", (1, "b")), assign("carl", 0, how="seek"), poll("carl", (0, "a"))) == {}


def test_a_poll_that_failed_moved_nobody() -> None:
    failed = poll("carl", (0, "a"), outcome="fail")
    assert found(*SENT, ALL, assign("carl", "beginning"), failed, poll("carl", (0, "a"))) == {}
    assert found(failed) == {}


def test_a_poll_that_failed_read_nothing_in_its_transaction() -> None:
    lines = transaction("anna", "t1", send("anna", "a", 0), poll("anna", (0, "a"), outcome="fail"))
    assert found(*lines, poll("carl", (0, "a"))) == {}


def test_a_revocation_that_failed_excuses_nothing() -> None:
    lines = [*SENT, ALL, poll("carl", (0, "a")), revoke("carl", outcome="fail"), poll("carl", (3, "d"))]
    assert found(*lines) == {Kind.POLL_SKIP: True}


# G1b


def test_a_consumer_reads_a_part_of_a_transaction() -> None:
    sent = transaction("anna", "t1", send("anna", "a", 0), send("anna", "b", 1), send("anna", "c", 2))
    lines = [
        *sent,
        send("anna", "x", 4),
        poll("dora", (0, "a"), (1, "b"), (2, "c")),
        poll("carl", (0, "a")),
        poll("carl", (4, "x")),
    ]
    assert found(*lines) == {Kind.POLL_SKIP: True, Kind.INTERMEDIATE_READ: True}
    whole = [*lines[:-2], poll("carl", (0, "a")), poll("carl", (1, "b"), (2, "c"), (4, "x"))]
    assert found(*whole) == {}


# sends


def test_a_producer_overtakes_itself() -> None:
    told = verdict(send("anna", "a", 1), send("anna", "b", 0), poll("carl", (0, "b"), (1, "a")))
    assert told.bad_kinds == {Kind.NONMONOTONIC_SEND}
    (anomaly,) = told.findings[Kind.NONMONOTONIC_SEND].evidence
    assert (anomaly.offsets, anomaly.values) == ((1, 0), ("a", "b"))


def test_a_write_of_unknown_outcome_is_found_where_it_was_read() -> None:
    lines = [send("anna", "a", outcome="unknown"), send("anna", "b", 0), poll("carl", (0, "b"), (1, "a"))]
    assert Kind.NONMONOTONIC_SEND in found(*lines)


def test_a_producer_that_is_not_idempotent_may_overtake_itself() -> None:
    lines = [client("anna", idempotent=False), send("anna", "a", 1), send("anna", "b", 0)]
    assert found(*lines, poll("carl", (0, "b"), (1, "a")))[Kind.NONMONOTONIC_SEND] is False


def test_sends_are_in_the_order_in_which_they_began() -> None:
    """Whoever records them hears of their outcomes in another order."""
    lines = [send("anna", "b", 1, began_us=2, ended_us=5), send("anna", "a", 0, began_us=1, ended_us=6)]
    assert found(*lines, poll("carl", (0, "a"), (1, "b"))) == {}


def test_two_producers_may_overtake_each_other() -> None:
    assert found(send("anna", "a", 1), send("bert", "b", 0), poll("carl", (0, "b"), (1, "a"))) == {}


def test_a_transaction_overtakes_itself() -> None:
    sent = transaction("anna", "t1", send("anna", "a", 1), send("anna", "b", 0))
    assert found(*sent, poll("carl", (0, "b"), (1, "a"))) == {Kind.INTERNAL_NONMONOTONIC_SEND: True}


def test_others_write_between_the_records_of_a_transaction() -> None:
    """Kafka isolates no writes."""
    sent = transaction("anna", "t1", send("anna", "a", 0), send("anna", "b", 2))
    lines = [*sent, send("bert", "x", 1), poll("carl", (0, "a"), (1, "x"), (2, "b"))]
    assert found(*lines)[Kind.INTERNAL_SEND_SKIP] is False
    alone = transaction("anna", "t1", send("anna", "a", 0), send("anna", "b", 1))
    assert found(*alone, poll("carl", (0, "a"), (1, "b"))) == {}
