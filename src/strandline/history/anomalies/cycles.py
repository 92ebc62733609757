"""Cycles: A came before B and B before A.

One pass over all edges together finds out whether there is any cycle at all; nearly always there is none, or few
nodes are in one. Only among these is it asked of which edges it is made, from the fewest kinds to all.

Of each tangle one short cycle is told. However long a process was at work between two of its operations, that is one
step: the order in time is transitive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from strandline.history.dependencies import Dependencies
from strandline.history.expectations import Expectations
from strandline.history.graph import Edges, Layer, Step, components, short_cycle
from strandline.history.index import History
from strandline.history.operations import Poll, Send
from strandline.history.transaction import Transaction
from strandline.history.verdict import PARTS_MAX, Anomaly, Kind

IN_TIME = {"process", "realtime"}


class CycleClass(NamedTuple):
    kind: Kind
    edges: tuple[str, ...]
    is_bad: bool


# Writes of transactions are not isolated from each other, so cycles that need a ww edge are normal.
CYCLE_CLASSES = (
    CycleClass(Kind.WRITE_CYCLE, ("ww",), is_bad=False),
    CycleClass(Kind.READ_CYCLE, ("wr",), is_bad=True),
    CycleClass(Kind.MIXED_CYCLE, ("ww", "wr"), is_bad=False),
    CycleClass(Kind.WRITE_CYCLE_PROCESS, ("ww", "process"), is_bad=False),
    CycleClass(Kind.READ_CYCLE_PROCESS, ("wr", "process"), is_bad=True),
    CycleClass(Kind.WRITE_CYCLE_REALTIME, ("ww", "process", "realtime"), is_bad=False),
    CycleClass(Kind.READ_CYCLE_REALTIME, ("wr", "process", "realtime"), is_bad=True),
)


def cycles(history: History, _expectations: Expectations) -> Iterator[Anomaly]:
    """G0 of writes, G1c of reads, and either with the order within processes or in time."""
    graph = Dependencies(history)
    suspects = components(_together(list(graph.edges.values())))
    if not suspects:
        return
    nodes = sorted(node for component in suspects for node in component)
    layers = {name: Layer(name, _among(nodes, edges), name in IN_TIME) for name, edges in graph.edges.items()}
    told: dict[int, list[set[str]]] = defaultdict(list)  # by node, of which edges its cycles are
    for cycle_class in CYCLE_CLASSES:
        chosen = [layers[name] for name in cycle_class.edges]
        for component in components(_together([layer.edges for layer in chosen]), nodes):
            names = set(cycle_class.edges)
            if not any(known < names for node in component if node in told for known in told[node]):
                for node in component:
                    told[node].append(names)
                yield _anomaly(graph, cycle_class, short_cycle(chosen, component))


def _together(several: Sequence[Edges]) -> list[list[int]]:
    return [[target for edges in each for target in edges] for each in zip(*several, strict=True)]


def _among(nodes: list[int], edges: Edges) -> list[list[int]]:
    """Edges between these nodes only."""
    members = set(nodes)
    kept: list[list[int]] = [[] for _ in edges]
    for node in nodes:
        kept[node] = [target for target in edges[node] if target in members]
    return kept


def _anomaly(graph: Dependencies, cycle_class: CycleClass, cycle: list[Step]) -> Anomaly:
    shown = cycle[:PARTS_MAX]
    path = "".join(f"{_name(graph, step.node)} -{step.name}-> " for step in shown)
    left_out = len(cycle) - len(shown)
    rest = f"… and {left_out} more step{'s' if left_out > 1 else ''}, back to " if left_out else ""
    parts = [part for step in shown for part in _first_part(graph.operations[step.node])]
    return Anomaly(
        cycle_class.kind,
        cycle_class.is_bad,
        f"{path}{rest}{_name(graph, cycle[0].node)}",
        processes=tuple(dict.fromkeys(operation.process for operation in parts)),
        operations=tuple(operation.number for operation in parts),
    )


def _first_part(operation: Send | Poll | Transaction | None) -> Sequence[Send | Poll]:
    if isinstance(operation, Transaction):
        return operation.sends[:1] or operation.polls[:1]
    return () if operation is None else (operation,)


def _name(graph: Dependencies, node: int) -> str:
    operation = graph.operations[node]
    if operation is None:
        return "a moment"
    if isinstance(operation, Transaction):
        return f"transaction {operation.name}"
    return f"{type(operation).__name__.lower()} {operation.number} of {operation.process}"
