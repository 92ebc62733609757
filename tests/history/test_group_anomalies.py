"""Where groups go on after a rebalance: at what they committed last, as far as that is known."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from random import Random

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
    trim,
    verdict,
)

from strandline.history.verdict import Kind

SENT: list[Line] = [send("anna", value, offset) for offset, value in enumerate("abcd")]
MEMBERS: list[Line] = [
    client("carl", group="kitchen", clock="here"),
    client("dora", group="kitchen", clock="here"),
    *SENT,
    assign("carl", 0, how="rebalance"),
    poll("carl", (0, "a"), (1, "b"), (2, "c"), (3, "d")),
]
READ_FROM_2 = poll("dora", (2, "c"), (3, "d"))


def test_a_group_goes_on_where_it_committed() -> None:
    assert found(*MEMBERS, commit("carl", 2), assign("dora", 2, how="rebalance"), READ_FROM_2) == {}


def test_a_commit_is_lost() -> None:
    told = verdict(*MEMBERS, commit("carl", 4), assign("dora", 2, how="rebalance"), READ_FROM_2)
    assert told.bad_kinds == {Kind.LOST_COMMIT} == told.kinds
    (anomaly,) = told.findings[Kind.LOST_COMMIT].evidence
    assert (anomaly.offsets, anomaly.processes) == ((2, 4), ("dora", "carl"))


def test_where_it_begins_is_learnt_from_what_it_reads() -> None:
    lines = [*MEMBERS, commit("carl", 4), assign("dora", None, how="rebalance"), READ_FROM_2]
    assert found(*lines) == {Kind.LOST_COMMIT: True}


def test_a_place_that_nobody_knew_is_no_beginning() -> None:
    for unknown in (-1001, -1000):
        assert found(*MEMBERS, commit("carl", 2), assign("dora", unknown, how="rebalance"), READ_FROM_2) == {}


def test_all_commits_are_lost() -> None:
    lines = [*MEMBERS, commit("carl", 4), assign("dora", "beginning", how="rebalance")]
    assert found(*lines) == {Kind.LOST_COMMIT: True}


def test_a_group_goes_on_further_than_it_committed() -> None:
    lines = [*MEMBERS, commit("carl", 1), assign("dora", 2, how="rebalance"), READ_FROM_2]
    assert found(*lines) == {Kind.PHANTOM_COMMIT: True}


def test_a_group_goes_on_after_a_marker() -> None:
    """Nothing that it should have read lies between."""
    lines = [*MEMBERS, commit("carl", 4), assign("dora", 5, how="rebalance")]
    assert found(*lines) == {}


def test_a_start_of_unknown_outcome_is_none() -> None:
    for position in (0, None):
        start = assign("dora", position, how="rebalance", outcome="unknown")
        assert found(*MEMBERS, commit("carl", 4), start, READ_FROM_2) == {}


def test_records_that_were_trimmed_are_not_read() -> None:
    assert found(*MEMBERS, commit("carl", 1), trim("admin", 2), assign("dora", 2, how="rebalance"), READ_FROM_2) == {}


def test_a_commit_of_unknown_outcome_may_count_or_not() -> None:
    for position in (2, 4):
        lines = [commit("carl", 2), commit("carl", 4, outcome="unknown"), assign("dora", position, how="rebalance")]
        assert found(*MEMBERS, *lines) == {}


def test_a_commit_that_failed_does_not_count() -> None:
    lines = [commit("carl", 2), commit("carl", 4, outcome="fail"), assign("dora", 4, how="rebalance")]
    assert found(*MEMBERS, *lines) == {Kind.PHANTOM_COMMIT: True}


def test_of_two_commits_at_a_time_either_may_be_the_last() -> None:
    commits = [
        commit("carl", 1, began_us=100, ended_us=110),
        commit("carl", 2, began_us=200, ended_us=290),
        commit("carl", 4, began_us=210, ended_us=300),
    ]
    expected = {1: {Kind.LOST_COMMIT: True}, 2: {}, 4: {}}
    for position, kinds in expected.items():
        assert found(*MEMBERS, *commits, assign("dora", position, how="rebalance", began_us=400)) == kinds


def test_a_long_commit_may_still_be_the_last_after_many_short_ones() -> None:
    long = commit("carl", 1, began_us=100, ended_us=200)
    short = [commit("carl", 2, began_us=at_us, ended_us=at_us + 1) for at_us in (110, 120, 190)]
    later = commit("carl", 3, began_us=210, ended_us=211)
    for commits, expected in (
        ([long, *short], {0: {Kind.LOST_COMMIT: True}, 1: {}, 2: {}, 3: {Kind.PHANTOM_COMMIT: True}}),
        ([long, *short, later], {1: {Kind.LOST_COMMIT: True}, 2: {Kind.LOST_COMMIT: True}, 3: {}}),
    ):
        for position, kinds in expected.items():
            assert found(*MEMBERS, *commits, assign("dora", position, how="rebalance", began_us=400)) == kinds


def test_a_commit_after_the_assignment_says_nothing() -> None:
    assert found(*MEMBERS, assign("dora", 2, how="rebalance"), commit("dora", 4)) == {}


def test_groups_that_commit_by_themselves_are_not_judged() -> None:
    lines = [*MEMBERS, client("emil", group="kitchen", auto_commit=True), commit("carl", 4)]
    assert found(*lines, assign("dora", 2, how="rebalance")) == {}


def test_other_groups_and_seeks_say_nothing() -> None:
    assert found(*MEMBERS, commit("carl", 4, group="cellar"), assign("dora", 2, how="rebalance"), READ_FROM_2) == {}
    assert found(*MEMBERS, commit("carl", 4), assign("dora", 2, how="seek"), READ_FROM_2) == {}


def test_members_on_other_clocks_are_not_judged() -> None:
    lines = [client("fred", group="kitchen", clock="there"), *MEMBERS, commit("carl", 4)]
    assert found(*lines, assign("fred", 2, how="rebalance")) == {}


@pytest.mark.parametrize("outcome", ["ok", "unknown"])
@pytest.mark.parametrize("began_us", [1, 10**9], ids=["behind", "ahead"])
def test_what_a_member_with_another_clock_committed_came_before_or_after(began_us: int, outcome: str) -> None:
    """Whatever its clock shows: carl gave his partition to fred, on another machine, and got it back."""
    fred = [client("fred", group="kitchen", clock="there"), commit("fred", 4, outcome=outcome, began_us=began_us)]
    for position in (2, 4):
        lines = [*MEMBERS, commit("carl", 2), *fred, assign("carl", position, how="rebalance")]
        assert found(*lines) == {}


def test_a_group_whose_place_was_trimmed_may_begin_anywhere_after() -> None:
    """auto.offset.reset=latest."""
    begins = [*MEMBERS, commit("carl", 1), trim("admin", 2)]
    assert found(*begins, assign("dora", 3, how="rebalance"), poll("dora", (3, "d"))) == {}
    assert found(*begins, assign("dora", None, how="rebalance"), poll("dora", (3, "d"))) == {}
    still_there = [*MEMBERS, commit("carl", 2), trim("admin", 2)]
    assert found(*still_there, assign("dora", 3, how="rebalance")) == {Kind.PHANTOM_COMMIT: True}


# Transactions.


def consuming(name: str, *records: tuple[int, str], decision: str = "commit", outcome: str = "ok") -> list[Line]:
    parts = [poll("carl", *records), commit("carl", records[-1][0] + 1)]
    return list(transaction("carl", name, *parts, decision=decision, outcome=outcome))


BEGIN = MEMBERS[:-1]


def test_offsets_of_a_committed_transaction_count() -> None:
    lines = [*BEGIN, *consuming("t1", (0, "a"), (1, "b"))]
    assert found(*lines, assign("dora", 2, how="rebalance"), READ_FROM_2) == {}
    assert found(*lines, assign("dora", 0, how="rebalance")) == {Kind.LOST_COMMIT: True, Kind.UNSEEN: False}


def test_who_reads_uncommitted_records_does_not_wait_for_the_markers_of_offsets() -> None:
    """The end is acknowledged before they are written; who does not ask for stable offsets is told the old one."""
    uncommitted = client("dora", group="kitchen", clock="here", isolation="read_uncommitted")
    lines = [uncommitted, *BEGIN[:1], *BEGIN[2:], commit("carl", 1), *consuming("t1", (0, "a"), (1, "b"))]
    for position, bad in ((0, {Kind.LOST_COMMIT}), (1, set()), (2, set()), (3, {Kind.PHANTOM_COMMIT})):
        assert verdict(*lines, assign("dora", position, how="rebalance")).bad_kinds == bad
    assert verdict(*BEGIN, *lines[-5:], assign("dora", 1, how="rebalance")).bad_kinds == {Kind.LOST_COMMIT}


def test_offsets_of_an_aborted_transaction_do_not() -> None:
    lines = [*BEGIN, *consuming("t1", (0, "a")), *consuming("t2", (1, "b"), decision="abort")]
    assert found(*lines, assign("dora", 2, how="rebalance"), READ_FROM_2) == {Kind.PHANTOM_COMMIT: True}


# The only offsets of a group are those of a transaction that was aborted.

ABORTED = consuming("t1", (0, "a"), (1, "b"), decision="abort")
SENT_BEFORE = [client("anna", clock="here"), *BEGIN]


def test_offsets_of_an_aborted_transaction_move_no_group_that_has_none() -> None:
    told = verdict(*SENT_BEFORE, *ABORTED, assign("dora", 2, how="rebalance"), READ_FROM_2)
    assert told.bad_kinds == {Kind.PHANTOM_COMMIT} == told.kinds
    (anomaly,) = told.findings[Kind.PHANTOM_COMMIT].evidence
    assert (anomaly.offsets, anomaly.processes, anomaly.operations) == ((2,), ("dora", "carl"), (13, 11))
    assert anomaly.sentence == (
        "dora began to read orders-0 at offset 2 for its group, which had committed none: carl had asked for it in t1,"
        " which was aborted"
    )
    committed_later = [assign("dora", 2, how="rebalance"), READ_FROM_2, commit("dora", 4)]
    assert found(*SENT_BEFORE, *ABORTED, *committed_later) == {Kind.PHANTOM_COMMIT: True}


START = [assign("dora", 2, how="rebalance"), READ_FROM_2]
EXPLAINED = {
    "a-reset-to-the-beginning": [*ABORTED, assign("dora", 0, how="rebalance"), poll("dora", (0, "a"), (1, "b"))],
    "another-place": [*ABORTED, assign("dora", 1, how="rebalance")],
    "a-trim": [*ABORTED, trim("admin", 2), *START],
    "a-commit-of-unknown-outcome": [*ABORTED, commit("carl", 2, outcome="unknown"), *START],
    "a-transaction-of-unknown-outcome": [*consuming("t1", (0, "a"), (1, "b"), outcome="unknown"), *START],
    "a-transaction-that-nobody-ended": [*ABORTED[:-1], *START],
    "a-commit-by-another-clock": [*ABORTED, client("fred", clock="there"), commit("fred", 7), *START],
    "somebody-commits-by-itself": [*ABORTED, client("emil", group="kitchen", auto_commit=True), *START],
    "another-group": [
        *consuming("t1", (0, "a"), decision="abort"),
        *transaction("carl", "t2", commit("carl", 2, group="cellar"), decision="abort"),
        *START,
    ],
    "it-chose-the-place": [*ABORTED, assign("dora", 2), READ_FROM_2],
    "it-learnt-where-from-what-it-read": [*ABORTED, assign("dora", None, how="rebalance"), READ_FROM_2],
}


@pytest.mark.parametrize("lines", EXPLAINED.values(), ids=EXPLAINED)
def test_a_start_that_has_another_reason(lines: list[Line]) -> None:
    assert Kind.PHANTOM_COMMIT not in verdict(*SENT_BEFORE, *lines).kinds


def test_the_end_of_the_log_is_where_a_reset_leads() -> None:
    """As far as is known: what came later was sent after it, by an open transaction, or by the leader's word alone."""
    first = [client("anna", clock="here"), *BEGIN[:2], *SENT[:2], assign("carl", 0, how="rebalance"), *ABORTED]
    begins = assign("dora", 2, how="rebalance")
    later = [send("anna", "c", 2), send("anna", "d", 3)]
    in_transaction = transaction("anna", "t9", *later)
    for lines in (
        [begins, *later],
        [*in_transaction, begins],
        [begins],
        [client("anna", acks=1, clock="here"), begins],
    ):
        assert Kind.PHANTOM_COMMIT not in verdict(*first, *lines).kinds
    assert Kind.PHANTOM_COMMIT in verdict(*first, *later, begins).bad_kinds
    by_one = client("emil", clock="here", acks=1)
    by_leader = [send("emil", "c", 2), begins]
    assert Kind.PHANTOM_COMMIT not in verdict(by_one, *first, *by_leader).kinds


def test_a_group_may_have_committed_before_the_history_began() -> None:
    """It stood at the end of the log, where the first known record was sent."""
    first = [client("anna", clock="here"), *BEGIN[:2], *SENT[2:], assign("carl", 2, how="rebalance")]
    asked = transaction("carl", "t1", commit("carl", 2), decision="abort")
    assert Kind.PHANTOM_COMMIT not in verdict(*first, *asked, *START).kinds


# Offsets of groups that were deleted, or expired.


def test_a_group_whose_offsets_were_deleted_begins_where_a_reset_leads() -> None:
    known = [client("anna", clock="here"), *MEMBERS, commit("carl", 2)]
    for position, kind, is_bad in (
        (0, Kind.LOST_COMMIT, False),
        ("beginning", Kind.LOST_COMMIT, False),
        (1, Kind.LOST_COMMIT, True),
        (3, Kind.PHANTOM_COMMIT, True),
        (4, Kind.PHANTOM_COMMIT, False),
    ):
        lines = [*known, assign("dora", position, how="rebalance")]
        assert found(*lines) == {kind: True}
        assert found(*lines, may_forget_offsets=True) == {kind: is_bad}
    begins = assign("dora", 1, how="rebalance")
    assert found(*known, trim("admin", 1), begins, may_forget_offsets=True) == {Kind.LOST_COMMIT: False}
    assert found(*known, begins, may_forget_offsets=True, may_delete=True) == {Kind.LOST_COMMIT: False}


# Dora has the partition too, since before anything was committed: somebody should have fenced one of them.
BOTH = [*BEGIN, assign("dora", 0, how="rebalance"), poll("dora", (0, "a"))]
AGAIN = list(transaction("dora", "t2", poll("dora", (1, "b"), (2, "c"), (3, "d")), commit("dora", 4)))


def test_a_record_is_consumed_twice() -> None:
    told = verdict(*BOTH, *consuming("t1", (0, "a"), (1, "b")), *AGAIN)
    assert told.bad_kinds == {Kind.CONSUMED_TWICE} == told.kinds
    (anomaly,) = told.findings[Kind.CONSUMED_TWICE].evidence
    assert (anomaly.offsets, anomaly.values) == ((1,), ("b",))


def test_a_group_whose_offsets_were_deleted_consumes_again() -> None:
    lines = [*BOTH, *consuming("t1", (0, "a"), (1, "b")), *AGAIN]
    assert found(*lines, may_forget_offsets=True) == {Kind.CONSUMED_TWICE: False}


def test_who_goes_back_on_purpose_consumes_again() -> None:
    for back in (assign("carl", 1, how="seek"), assign("carl", 1), assign("carl", "beginning", how="seek")):
        offsets = [(1, "b"), (2, "c"), (3, "d")]
        records = offsets if back[1]["positions"][0][2] == 1 else [(0, "a"), *offsets]
        lines = [*BEGIN, *consuming("t1", (0, "a"), (1, "b")), back, *consuming("t2", *records)]
        assert found(*lines) == {}
    back = assign("carl", 1, how="seek", outcome="unknown")
    lines = [*BEGIN, *consuming("t1", (0, "a"), (1, "b")), back, *consuming("t2", (1, "b"), (2, "c"), (3, "d"))]
    assert found(*lines) == {}


def test_who_was_sent_there_before_the_other_committed_did_not_mean_to_consume_again() -> None:
    seek = assign("dora", 1, how="seek")
    lines = [*BOTH, seek, *consuming("t1", (0, "a"), (1, "b")), *AGAIN]
    assert found(*lines) == {Kind.CONSUMED_TWICE: True}
    elsewhere = assign("dora", 1, 1, how="seek")
    lines = [*BOTH, *consuming("t1", (0, "a"), (1, "b")), elsewhere, *AGAIN]
    assert found(*lines) == {Kind.CONSUMED_TWICE: True}


def test_a_third_who_consumed_on_purpose_hides_no_pair() -> None:
    """Both were sent there after the third had committed, and before either of them did."""
    overlapping: list[Line] = []
    for process, name in (("dora", "t2"), ("emil", "t3")):
        part = poll(process, (1, "b"), (2, "c"), (3, "d"), transaction=name)
        overlapping += [assign(process, 1), begin(process, name), part]
    for process, name in (("dora", "t2"), ("emil", "t3")):
        overlapping += [commit(process, 4, transaction=name), end(process, name)]
    lines = [client("emil", group="kitchen", clock="here"), *BEGIN, *consuming("t1", (0, "a"), (1, "b"))]
    told = verdict(*lines, *overlapping)
    assert told.bad_kinds == {Kind.CONSUMED_TWICE} == told.kinds
    pairs = [anomaly.operations for anomaly in told.findings[Kind.CONSUMED_TWICE].evidence]
    assert [anomaly.offsets for anomaly in told.findings[Kind.CONSUMED_TWICE].evidence] == [(1,), (2,), (3,)]
    assert len(set(pairs)) == 1
    one_by_one = [*overlapping[:3], *overlapping[6:8], *overlapping[3:6], *overlapping[8:]]
    assert found(*lines, *one_by_one) == {}


@pytest.mark.parametrize("seed", range(50))
def test_who_consumed_twice_among_many_did_so_among_two(seed: int) -> None:
    random = Random(seed)
    waiting = [list(consumes_once(random, name)) for name in ("anna", "bert", "carl", "dora")]
    lines: list[Line] = []
    while any(waiting):
        lines.append(random.choice([each for each in waiting if each]).pop(0))
    pairs = combinations(("anna", "bert", "carl", "dora"), 2)
    among_two = [[line for line in lines if line[1]["process"] in pair] for pair in pairs]
    is_twice = any(Kind.CONSUMED_TWICE in verdict(*each).kinds for each in among_two)
    assert (Kind.CONSUMED_TWICE in verdict(*lines).kinds) is is_twice


def consumes_once(random: Random, process: str) -> Iterator[Line]:
    yield client(process, group="kitchen", clock=random.choice(["here", "here", "here", "there"]))
    yield assign(process, 0, how=random.choice(["seek", "assign", "seek", "rebalance"]))
    yield poll(process, (0, "a"), transaction=process)
    yield commit(process, 1, transaction=process)
    yield end(process, process, outcome=random.choice(["ok", "ok", "ok", "unknown"]))


def test_what_an_aborted_transaction_consumed_is_consumed_again() -> None:
    lines = [*BEGIN, *consuming("t1", (0, "a"), (1, "b"), decision="abort"), assign("carl", 0, how="seek")]
    assert found(*lines, *consuming("t2", (0, "a"), (1, "b"), (2, "c"), (3, "d"))) == {}


def test_what_a_transaction_read_and_did_not_commit_is_consumed_by_the_next() -> None:
    """It committed offset 1, so it never claimed what lies there."""
    first = transaction("carl", "t1", poll("carl", (0, "a"), (1, "b")), commit("carl", 1))
    again = assign("carl", 1, how="seek")
    assert found(*BEGIN, *first, again, *consuming("t2", (1, "b"), (2, "c"), (3, "d"))) == {}
    of_the_other = transaction("carl", "t1", poll("carl", (0, "a"), (1, "b")), commit("carl", 7, partition=1))
    from_the_beginning = [assign("carl", 0, how="seek"), *consuming("t2", (0, "a"), (1, "b"), (2, "c"), (3, "d"))]
    assert found(*BEGIN, *of_the_other, *from_the_beginning) == {}


def test_of_several_commits_in_a_transaction_the_last_counts() -> None:
    reads = poll("carl", (0, "a"), (1, "b"))
    forth = transaction("carl", "t1", reads, commit("carl", 1), commit("carl", 2))
    assert found(*BOTH, *forth, *AGAIN) == {Kind.CONSUMED_TWICE: True}
    back = transaction("carl", "t1", reads, commit("carl", 2), commit("carl", 1))
    assert found(*BOTH, *back, *AGAIN) == {}


def test_a_commit_of_unknown_outcome_claims_nothing_for_sure() -> None:
    reads = poll("carl", (0, "a"), (1, "b"))
    for offsets in ([(2, "unknown")], [(2, "fail")], [(1, "ok"), (2, "unknown")], [(2, "ok"), (1, "unknown")]):
        commits = [commit("carl", offset, outcome=outcome) for offset, outcome in offsets]
        assert found(*BOTH, *transaction("carl", "t1", reads, *commits), *AGAIN) == {}
    sure = transaction("carl", "t1", reads, commit("carl", 2), commit("carl", 3, outcome="unknown"))
    assert found(*BOTH, *sure, *AGAIN) == {Kind.CONSUMED_TWICE: True}
