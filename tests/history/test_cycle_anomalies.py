"""Cycles of transactions and of operations in time; and the graph they are found in, against a simple twin."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.history.planting import Line, assign, begin, client, end, found, poll, send, verdict

from strandline.history.graph import Layer, components, short_cycle
from strandline.history.verdict import PARTS_MAX, Kind


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


def around_a_transaction(*writes: Line) -> list[Line]:
    """t1 wrote first to partition 0 and last to partition 1; these came in between."""
    first, last = send("anna", "first", 0, 0, transaction="t1"), send("anna", "last", 1, 1, transaction="t1")
    return [begin("anna", "t1"), first, *writes, send("bert", "answer", 0, 1), last, end("anna", "t1")]


def test_what_a_process_did_between_two_writes_is_one_step() -> None:
    """A transaction that lasts has hundreds of sends around it. Who wrote right after its first, and right before its
    last, says it all."""
    busy = [send("bert", f"v{number}", number, 2, began_us=number + 3) for number in range(500)]
    told = verdict(*around_a_transaction(send("bert", "question", 1), *busy))
    (anomaly,) = told.findings[Kind.WRITE_CYCLE_PROCESS].evidence
    assert anomaly.sentence == ("transaction t1 -ww-> send 3 of bert -process-> send 504 of bert -ww-> transaction t1")
    assert anomaly.operations == (2, 3, 504)
    assert not anomaly.is_bad


def test_moments_are_not_told() -> None:
    """With several under way at a time, the order within a process leads over moments."""
    busy = [
        send("bert", f"v{number}", number, 2, began_us=10 * number + 10, ended_us=10 * number + 45)
        for number in range(500)
    ]
    lines = around_a_transaction(send("bert", "question", 1, began_us=5, ended_us=6), *busy)
    lines[-3][1].update(began_us=6000, ended_us=6001)
    told = verdict(*lines)
    (anomaly,) = told.findings[Kind.WRITE_CYCLE_PROCESS].evidence
    assert anomaly.sentence == "transaction t1 -ww-> send 3 of bert -process-> send 504 of bert -ww-> transaction t1"


def test_the_fewest_steps_are_told_though_others_are_nearer() -> None:
    """Over the writes of many it is five operations, over bert's own time it is two, with hundreds in between."""
    others = [send(f"other{number}", f"o{number}", number + 2) for number in range(3)]
    busy = [send("bert", f"v{number}", number, 2) for number in range(300)]
    told = verdict(*around_a_transaction(send("bert", "question", 1), *others, *busy))
    (anomaly,) = told.findings[Kind.WRITE_CYCLE_PROCESS].evidence
    assert len(anomaly.operations) == 3


def test_a_cycle_of_many_steps_is_cut_off() -> None:
    """A ring of transactions, each of which wrote before the next one somewhere."""
    count = 40
    lines = [begin(f"p{number}", f"t{number}") for number in range(count)]
    for number in range(count):
        following = (number + 1) % count
        lines += [
            send(f"p{number}", f"a{number}", 0, number, transaction=f"t{number}"),
            send(f"p{following}", f"b{number}", 1, number, transaction=f"t{following}"),
        ]
    lines += [end(f"p{number}", f"t{number}") for number in range(count)]
    (anomaly,) = verdict(*lines).findings[Kind.WRITE_CYCLE].evidence
    assert anomaly.sentence.count("-ww->") == PARTS_MAX
    assert anomaly.sentence.endswith(f" … and {count - PARTS_MAX} more steps, back to transaction t0")
    assert len(anomaly.operations) == PARTS_MAX
    assert len(anomaly.processes) == PARTS_MAX


EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40)


@given(EDGES)
def test_components_are_those_of_a_simple_twin(pairs: list[tuple[int, int]]) -> None:
    edges = [[target for source, target in pairs if source == node and target != node] for node in range(12)]
    found = {frozenset(component) for component in components(edges)}
    assert found == {component for node in range(12) if len(component := mutually_reachable(edges, node)) > 1}
    for component in found:
        cycle = [step.node for step in short_cycle([Layer("ww", edges)], component)]
        assert len(set(cycle)) == len(cycle) >= 2
        assert all(following in edges[node] for node, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True))


RISING = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)).map(sorted).filter(lambda two: two[0] < two[1]))


@given(EDGES, RISING)
def test_a_step_of_time_stands_for_several(pairs: list[tuple[int, int]], rising: list[list[int]]) -> None:
    writes = [[target for source, target in pairs if source == node and target != node] for node in range(12)]
    time = [[later for earlier, later in rising if earlier == node] for node in range(12)]
    together = [[*one, *other] for one, other in zip(writes, time, strict=True)]
    for component in components(together):
        cycle = short_cycle([Layer("ww", writes), Layer("process", time, is_transitive=True)], component)
        for step, following in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            reached = writes[step.node] if step.name == "ww" else reachable(time, step.node)
            assert following.node in reached
        names = [step.name for step in cycle]
        assert ("process", "process") not in zip(names, names[1:] + names[:1], strict=True)


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
