"""Cycles of transactions and of operations in time; and the graph they are found in, against a simple twin."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.history.planting import Line, assign, begin, client, end, found, poll, send, verdict

from strandline.history.graph import components, short_cycle
from strandline.history.verdict import Kind


def crosswise(*parts: Line, uncommitted: bool = False) -> list[Line]:
    """Two transactions that overlap."""
    isolation = "read_uncommitted" if uncommitted else "read_committed"
    return [
        client("carl", isolation=isolation),
        client("dora", isolation=isolation),
        begin("anna", "t1"),
        begin("bert", "t2"),
        *parts,
        end("anna", "t1"),
        end("bert", "t2"),
    ]


A0 = send("anna", "a", 0, transaction="t1")
B0 = send("bert", "b", 0, 1, transaction="t2")


def test_two_transactions_read_each_other() -> None:
    parts = [A0, B0, poll("carl", (0, "b"), partition=1, transaction="t1"), poll("dora", (0, "a"), transaction="t2")]
    told = verdict(*crosswise(*parts))
    assert told.bad_kinds == {Kind.READ_CYCLE} == told.kinds
    (anomaly,) = told.findings[Kind.READ_CYCLE].evidence
    assert anomaly.sentence == "transaction t1 -wr-> transaction t2 -wr-> transaction t1"
    assert anomaly.processes == ("anna", "bert")
    assert found(*crosswise(*parts, uncommitted=True)) == {}


def test_one_transaction_reads_the_other() -> None:
    assert (
        found(*crosswise(A0, B0, poll("dora", (0, "a"), transaction="t2")), poll("carl", (0, "b"), partition=1)) == {}
    )


def test_writes_of_two_transactions_cross() -> None:
    """Normal: writes are not isolated."""
    parts = [A0, send("bert", "x", 1, transaction="t2"), B0, send("anna", "y", 1, 1, transaction="t1")]
    polls = [poll("carl", (0, "a"), (1, "x")), poll("carl", (0, "b"), (1, "y"), partition=1)]
    assert found(*crosswise(*parts), *polls) == {Kind.WRITE_CYCLE: False}


def test_a_write_and_a_read_cross() -> None:
    """Normal for the same reason: t1 wrote before t2 in one partition, and read what t2 wrote in another."""
    parts = [A0, send("bert", "x", 1, transaction="t2"), B0, poll("carl", (0, "b"), partition=1, transaction="t1")]
    assert found(*crosswise(*parts), poll("carl", (0, "a"), (1, "x"))) == {Kind.MIXED_CYCLE: False}


def test_news_go_in_a_circle() -> None:
    """Each read the other's record before it sent its own. No clock is needed to see that one saw the future."""
    lines = [
        poll("anna", (0, "b"), partition=1),
        send("anna", "a", 0),
        poll("bert", (0, "a")),
        send("bert", "b", 0, 1),
    ]
    told = verdict(*lines)
    assert told.bad_kinds == {Kind.READ_CYCLE_PROCESS} == told.kinds
    assert told.findings[Kind.READ_CYCLE_PROCESS].evidence[0].sentence == (
        "send 2 of anna -wr-> poll 3 of bert -process-> send 4 of bert -wr-> poll 1 of anna -process-> send 2 of anna"
    )
    assert found(*lines[1:], poll("anna", (0, "b"), partition=1)) == {}


def test_a_record_is_read_before_it_is_sent() -> None:
    clocks = [client("anna", clock="here"), client("carl", clock="here")]
    lines = [poll("carl", (0, "a"), began_us=10, ended_us=20), send("anna", "a", 0, began_us=30, ended_us=40)]
    assert found(*clocks, *lines) == {Kind.READ_CYCLE_REALTIME: True}
    assert found(*clocks[:1], *lines) == {}
    overlapping = [lines[0], send("anna", "a", 0, began_us=15, ended_us=40)]
    assert found(*clocks, *overlapping) == {}


def test_a_later_write_lies_before_an_earlier_one() -> None:
    """Allowed as all G0 are; nonmonotonic-send is about those of one producer."""
    clocks = [client("anna", clock="here"), client("bert", clock="here")]
    lines = [send("anna", "a", 1, began_us=1, ended_us=2), send("bert", "b", 0, began_us=3, ended_us=4)]
    assert found(*clocks, *lines, poll("carl", (0, "b"), (1, "a"))) == {Kind.WRITE_CYCLE_REALTIME: False}


def test_an_operation_that_lasts_does_not_hide_what_came_before_it() -> None:
    """The moment at which a long one ends is later than all that ended while it lasted."""
    clocks = [client(process, clock="here") for process in ("anna", "bert", "carl", "dora")]
    lines = [
        send("anna", "long", 0, 2, began_us=1, ended_us=100),
        poll("carl", (0, "a"), began_us=10, ended_us=20),
        poll("bert", (0, "long"), partition=2, began_us=30, ended_us=300),
        send("dora", "a", 0, began_us=200, ended_us=210),
    ]
    assert found(*clocks, *lines) == {Kind.READ_CYCLE_REALTIME: True}


def test_many_that_follow_each_other_are_no_cycle() -> None:
    lines = [send("anna", f"v{number}", number) for number in range(2000)]
    reads = [assign("carl", 0), *(poll("carl", (number, f"v{number}")) for number in range(2000))]
    assert found(*lines, *reads) == {}


EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40)


@given(EDGES)
def test_components_are_those_of_a_simple_twin(pairs: list[tuple[int, int]]) -> None:
    edges = [[target for source, target in pairs if source == node and target != node] for node in range(12)]
    found = {frozenset(component) for component in components(edges)}
    assert found == {component for node in range(12) if len(component := mutually_reachable(edges, node)) > 1}
    for component in found:
        cycle = short_cycle(edges, component)
        assert len(set(cycle)) == len(cycle) >= 2
        assert all(following in edges[node] for node, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


def mutually_reachable(edges: list[list[int]], node: int) -> frozenset[int]:
    reaches = [reachable(edges, other) for other in range(len(edges))]
    return frozenset({node} | {other for other in reaches[node] if node in reaches[other]})


def reachable(edges: list[list[int]], start: int) -> set[int]:
    seen: set[int] = set()
    ahead = [start]
    while ahead:
        for target in edges[ahead.pop()]:
            if target not in seen:
                seen.add(target)
                ahead.append(target)
    return seen
