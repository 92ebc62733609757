"""Cycles in large graphs: Tarjan's strongly connected components without recursion, and a short cycle in each.

Nodes are numbers, edges lists of numbers. Components come out in time proportional to nodes and edges.

Edges come in layers, by what they mean. In a transitive one, such as time, a chain of edges says no more than a single
one from its beginning to its end: it counts as one step, and only its beginning and end are told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

BREADTH_FIRST_MAX = 8  # nodes of a component from which a short cycle is looked for

Edges = Sequence[Sequence[int]]
State: TypeAlias = tuple[int, int]  # a node, and the number of the layer by which it was reached


class Layer(NamedTuple):
    name: str
    edges: Edges
    is_transitive: bool = False


class Step(NamedTuple):
    """From a node to that of the next step, by this layer."""

    node: int
    name: str


def components(edges: Edges, nodes: Iterable[int] | None = None) -> list[list[int]]:
    """The strongly connected components of at least two nodes."""
    count = len(edges)
    visited_at = [0] * count  # 0: not yet
    lowest = [0] * count
    is_open = bytearray(count)
    found: list[list[int]] = []
    waiting: list[int] = []
    clock = 0
    for root in range(count) if nodes is None else nodes:
        if visited_at[root]:
            continue
        path = [(root, iter(edges[root]))]
        clock += 1
        visited_at[root] = lowest[root] = clock
        waiting.append(root)
        is_open[root] = 1
        while path:
            node, ahead = path[-1]
            for target in ahead:
                if not visited_at[target]:
                    clock += 1
                    visited_at[target] = lowest[target] = clock
                    waiting.append(target)
                    is_open[target] = 1
                    path.append((target, iter(edges[target])))
                    break
                if is_open[target] and visited_at[target] < lowest[node]:
                    lowest[node] = visited_at[target]
            else:
                path.pop()
                if path and lowest[node] < lowest[path[-1][0]]:
                    lowest[path[-1][0]] = lowest[node]
                if lowest[node] == visited_at[node]:
                    _close(node, waiting, is_open, found)
    return found


def _close(node: int, waiting: list[int], is_open: bytearray, found: list[list[int]]) -> None:
    component: list[int] = []
    while True:
        member = waiting.pop()
        is_open[member] = 0
        component.append(member)
        if member == node:
            break
    if len(component) > 1:
        found.append(component)


def short_cycle(layers: Sequence[Layer], component: Collection[int]) -> list[Step]:
    """The last leads back to the first. Of the cycles through some of the nodes, one with the fewest steps."""
    members = set(component)
    best: list[Step] = []
    for start in sorted(component)[:BREADTH_FIRST_MAX]:
        steps_max = len(best) or len(members)
        cycle = _without_stops(layers, _cycle_through(layers, members, start, steps_max))
        if cycle and (not best or len(cycle) < len(best)):
            best = cycle
    return best


def _cycle_through(layers: Sequence[Layer], members: set[int], start: int, steps_max: int) -> list[Step]:
    """Breadth first by the number of steps, where going on in a transitive layer is none. Empty if it takes more."""
    came_from: dict[State, State] = {}
    begin = start, len(layers)
    following = [(begin, begin)]
    for _ in range(steps_max + 1):
        ahead, following = deque(following), []
        while ahead:
            state, before = ahead.popleft()
            if state in came_from:
                continue
            came_from[state] = before
            node, reached_by = state
            if node == start and state != begin:
                return _steps(layers, came_from, state, begin)
            for number, layer in enumerate(layers):
                queue = ahead if layer.is_transitive and number == reached_by else following
                for target in layer.edges[node]:
                    if target in members and (target, number) not in came_from:
                        queue.append(((target, number), state))
    return []


def _steps(
    layers: Sequence[Layer],
    came_from: dict[State, State],
    state: State,
    begin: State,
) -> list[Step]:
    steps: list[Step] = []
    while state != begin:
        before = came_from[state]
        steps.append(Step(before[0], layers[state[1]].name))
        state = before
    return steps[::-1]


def _without_stops(layers: Sequence[Layer], steps: list[Step]) -> list[Step]:
    """Only where it turns from one layer to another."""
    transitive = {layer.name for layer in layers if layer.is_transitive}
    return [
        step
        for before, step in zip([*steps[-1:], *steps[:-1]], steps, strict=True)
        if step.name not in transitive or step.name != before.name
    ]
