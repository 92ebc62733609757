"""What was asked for, and perhaps never answered: whoever is killed hears nothing, though it came to be."""

from __future__ import annotations

from typing import Any

import pytest
from tests.history.planting import (
    TOPIC,
    Line,
    assign,
    begin,
    client,
    commit,
    end,
    poll,
    send,
    verdict,
)

from strandline.history.verdict import Kind

SENT: list[Line] = [send("anna", value, offset) for offset, value in enumerate("abcdef")]
READ: list[Line] = [
    client("carl", group="kitchen", clock="here"),
    client("dora", group="kitchen", clock="here"),
    *SENT,
    assign("carl", 0, how="rebalance"),
    poll("carl", *enumerate("abcdef")),
    commit("carl", 1, began_us=100, ended_us=110),
]
ASKED = commit("carl", 3, outcome="asked", began_us=200)


def bad(*lines: Line) -> set[Kind]:
    return set(verdict(*lines).bad_kinds)


def goes_on_at(offset: int, group: str = "kitchen") -> list[Line]:
    rest = list(enumerate("abcdef"))[offset:]
    return [
        client("dora", group=group, clock="here"),
        assign("dora", offset, how="rebalance", began_us=900, ended_us=910),
        poll("dora", *rest, began_us=920, ended_us=930),
    ]


@pytest.mark.parametrize(
    ("offset", "kinds"), [(0, {Kind.LOST_COMMIT}), (1, set()), (3, set()), (4, {Kind.PHANTOM_COMMIT})]
)
def test_a_commit_that_nobody_heard_of_may_count_or_not(offset: int, kinds: set[Kind]) -> None:
    """And nothing else may: neither more than was asked for, nor less than was there before."""
    assert bad(*READ, ASKED, *goes_on_at(offset)) == kinds


@pytest.mark.parametrize("is_told_first", [True, False])
@pytest.mark.parametrize(
    ("outcome", "offset", "kinds"),
    [
        ("ok", 1, {Kind.LOST_COMMIT}),
        ("ok", 3, set()),
        ("fail", 1, set()),
        ("fail", 3, {Kind.PHANTOM_COMMIT}),
        ("unknown", 1, set()),
        ("unknown", 3, set()),
    ],
)
def test_what_came_of_it_is_all_that_counts(outcome: str, offset: int, kinds: set[Kind], is_told_first: bool) -> None:
    heard = commit("carl", 3, outcome=outcome, began_us=200, ended_us=300)
    told = verdict(*READ, *((heard, ASKED) if is_told_first else (ASKED, heard)), *goes_on_at(offset))
    assert told.bad_kinds == kinds
    assert told.operations["commit", "asked"] == 0
    assert sum(told.operations["commit", each] for each in ("ok", "fail", "unknown")) == 2


def test_an_answer_may_come_in_several_lines_and_not_for_all_that_was_asked_for() -> None:
    """A client commits nothing where its group is already."""
    offsets = [[TOPIC, partition, 3] for partition in range(3)]
    asked = ("commit", {**ASKED[1], "offsets": offsets})
    heard = [commit("carl", 3, outcome="unknown", partition=1, began_us=200), commit("carl", 3, began_us=200)]
    assert bad(*READ, asked, *heard, *goes_on_at(1)) == {Kind.LOST_COMMIT}
    assert verdict(*READ, asked, *heard, *goes_on_at(3)).operations["commit", "unknown"] == 1


def test_another_call_is_no_answer() -> None:
    """Nor is one of another process, or of another life, though it began at the same moment."""
    others = [
        [commit("carl", 2, began_us=250, ended_us=260), commit("carl", 1, began_us=300, ended_us=310)],
        [client("emil", group="kitchen", clock="here"), commit("emil", 1, began_us=200, ended_us=210)],
        [assign("carl", 0, how="seek", began_us=200)],
        [client("carl", group="kitchen", clock="here"), commit("carl", 1, began_us=200)],
    ]
    for lines in others:
        assert bad(*READ, ASKED, *lines, *goes_on_at(3)) == set()
        assert bad(*READ, *lines, *goes_on_at(3)) == {Kind.PHANTOM_COMMIT}


def test_what_was_asked_for_twice_and_never_answered_may_be_either() -> None:
    """A client may read on before it gets to what was asked for."""
    lines = [*READ, ASKED, commit("carl", 5, outcome="asked", began_us=200)]
    assert [verdict(*lines, *goes_on_at(offset)).is_sound for offset in (1, 3, 5)] == [True, True, True]
    heard = commit("carl", 5, began_us=200, ended_us=210)
    assert bad(*lines, heard, *goes_on_at(3)) == {Kind.LOST_COMMIT}


COPIER = client("copier", acks="all", idempotent=True, group="copiers", isolation="read_committed", clock="here")


def copies(name: str, first: int, value: str, offset: int, began_us: int) -> list[Line]:
    """Two records into one, as far as the end."""
    read = [(number, "abcdef"[number]) for number in (first, first + 1)]
    told: dict[str, Any] = {"transaction": name, "began_us": began_us, "ended_us": began_us + 5}
    return [
        begin("copier", name, began_us=began_us - 5),
        poll("copier", *read, **told),
        send("copier", value, offset, partition=1, **told),
        commit("copier", first + 2, "copiers", **told),
    ]


KILLED: list[Line] = [
    COPIER,
    *SENT,
    assign("copier", 0, how="rebalance"),
    *copies("t1", 0, "ab", 0, 100),
    end("copier", "t1", began_us=110, ended_us=120),
    *copies("t2", 2, "cd", 2, 200),
]
COMMITS = end("copier", "t2", outcome="asked", began_us=210)


@pytest.mark.parametrize("offset", [2, 4])
def test_a_copier_that_was_killed_amid_its_commit(offset: int) -> None:
    assert bad(*KILLED, COMMITS, COPIER, *goes_on_at(offset, "copiers")) == set()
    assert bad(*KILLED, COMMITS, *goes_on_at(5, "copiers")) == {Kind.PHANTOM_COMMIT}
    assert bad(*KILLED, COMMITS, *goes_on_at(0, "copiers")) == {Kind.LOST_COMMIT}


def test_one_that_was_killed_before_it_asked_has_committed_nothing() -> None:
    """What is aborted by its successor cannot have moved the group, and was asked for by nobody."""
    aborts = end("copier", "t2", "abort", outcome="asked", began_us=210)
    assert bad(*KILLED, aborts, COPIER, *goes_on_at(4, "copiers")) == {Kind.PHANTOM_COMMIT}
    refused = end("copier", "t2", outcome="fail", began_us=210, ended_us=220)
    assert bad(*KILLED, COMMITS, refused, COPIER, *goes_on_at(4, "copiers")) == {Kind.PHANTOM_COMMIT}


def test_whoever_is_killed_amid_a_commit_may_have_been_read() -> None:
    early, late = (poll("emil", (0, "ab"), (2, "cd"), partition=1, began_us=at, ended_us=at) for at in (205, 215))
    assert bad(*KILLED, COMMITS, late) == set()
    assert Kind.UNCOMMITTED_READ in bad(client("emil", clock="here"), *KILLED, COMMITS, early)


def test_it_counts_as_unknown() -> None:
    operations = verdict(*KILLED, COMMITS).operations
    assert {outcome: operations["end", outcome] for outcome in ("ok", "unknown", "asked")} == {
        "ok": 1,
        "unknown": 1,
        "asked": 0,
    }
