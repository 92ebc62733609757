"""Cycles in large graphs: Tarjan's strongly connected components without recursion, and a shortest cycle in each.

Nodes are numbers, edges lists of numbers. Components come out in time proportional to nodes and edges.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence

BREADTH_FIRST_MAX = 16  # nodes of a component from which a short cycle is looked for

Edges = Sequence[Sequence[int]]


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


def short_cycle(edges: Edges, component: Collection[int]) -> list[int]:
    """Nodes of a cycle, each with an edge to the next, the last to the first: the shortest through some of them."""
    members = set(component)
    best: list[int] = []
    for start in sorted(component)[:BREADTH_FIRST_MAX]:
        cycle = _cycle_through(edges, members, start)
        if not best or len(cycle) < len(best):
            best = cycle
    return best


def _cycle_through(edges: Edges, members: set[int], start: int) -> list[int]:
    came_from: dict[int, int] = {}
    ahead = deque([start])
    while ahead:
        node = ahead.popleft()
        for target in edges[node]:
            if target == start:
                return _path(came_from, start, node)
            if target in members and target not in came_from:
                came_from[target] = node
                ahead.append(target)
    return []


def _path(came_from: dict[int, int], start: int, node: int) -> list[int]:
    path = [node]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1]
