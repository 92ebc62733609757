"""The uniform assignor: everybody gets as much as everybody else, and keeps what it has as far as that goes.

1. Each member keeps those of its partitions that it still reads.
2. Partitions that are nobody's go, one by one, to the reader with the fewest. Topics with few readers for their
   partitions come first, since there is the least choice.
3. While some reader of a topic has at least two more than another, a partition of that topic moves from the one with
   the most to the one with the fewest.

Every move of step 3 makes the sum of squares of the loads smaller, so it ends, and then no move of a single partition
makes it fairer. If all members read the same topics, the loads differ by one at most, and no partition moves that need
not: only members above their share lose any, and only down to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush, heapreplace
from uuid import UUID

from strandline.groups.assignment import Assignment
from strandline.groups.assignors import Assignee


def assign_uniformly(members: Mapping[str, Assignee], partition_counts: Mapping[UUID, int]) -> dict[str, Assignment]:
    return _Distribution(members, partition_counts).assignments()


class _Distribution:
    __slots__ = ("_held", "_loads", "_partition_counts", "_readers")

    def __init__(self, members: Mapping[str, Assignee], partition_counts: Mapping[UUID, int]) -> None:
        self._partition_counts = partition_counts
        self._readers: dict[UUID, list[str]] = {
            topic_id: sorted(member_id for member_id in members if topic_id in members[member_id].topics)
            for topic_id in partition_counts
        }
        self._held: dict[UUID, dict[str, set[int]]] = {}  # by topic, then member
        self._loads = dict.fromkeys(members, 0)
        topics = sorted((topic_id for topic_id in partition_counts if self._readers[topic_id]), key=self._urgency)
        for topic_id in topics:
            self._keep(topic_id, members)
        for topic_id in topics:
            self._hand_out(topic_id)
        while True:
            moves = sum(self._level(topic_id) for topic_id in topics)
            if not moves:
                break

    def _urgency(self, topic_id: UUID) -> tuple[float, int, UUID]:
        readers = len(self._readers[topic_id])
        return -self._partition_counts[topic_id] / readers, readers, topic_id

    def _keep(self, topic_id: UUID, members: Mapping[str, Assignee]) -> None:
        free = set(range(self._partition_counts[topic_id]))
        held = self._held[topic_id] = {}
        for member_id in self._readers[topic_id]:
            held[member_id] = free & members[member_id].assigned.get(topic_id, frozenset())
            free -= held[member_id]
            self._loads[member_id] += len(held[member_id])

    def _hand_out(self, topic_id: UUID) -> None:
        held = self._held[topic_id]
        free = set(range(self._partition_counts[topic_id])).difference(*held.values())
        fewest = self._by_load(topic_id)
        for partition in sorted(free):
            member_id = fewest[0][1]
            held[member_id].add(partition)
            self._loads[member_id] += 1
            heapreplace(fewest, (self._loads[member_id], member_id))

    def _by_load(self, topic_id: UUID) -> list[tuple[int, str]]:
        heap = [(self._loads[member_id], member_id) for member_id in self._readers[topic_id]]
        heapify(heap)
        return heap

    def _level(self, topic_id: UUID) -> int:
        """How many partitions moved."""
        held = self._held[topic_id]
        fewest = self._by_load(topic_id)
        most = [(-self._loads[member_id], member_id) for member_id in self._readers[topic_id] if held[member_id]]
        heapify(most)
        moves = 0
        while most:
            giver = most[0][1]
            taker = fewest[0][1]
            # An entry whose load is not its member's any more is put right when it comes up.
            if -most[0][0] != self._loads[giver]:
                heapreplace(most, (-self._loads[giver], giver))
            elif fewest[0][0] != self._loads[taker]:
                heapreplace(fewest, (self._loads[taker], taker))
            elif self._loads[giver] - self._loads[taker] < 2:
                break
            elif not held[giver]:
                heappop(most)
            else:
                self._move(topic_id, giver, taker)
                heappush(most, (-self._loads[taker], taker))
                moves += 1
        return moves

    def _move(self, topic_id: UUID, giver: str, taker: str) -> None:
        partition = max(self._held[topic_id][giver])
        self._held[topic_id][giver].remove(partition)
        self._held[topic_id][taker].add(partition)
        self._loads[giver] -= 1
        self._loads[taker] += 1

    def assignments(self) -> dict[str, Assignment]:
        return {
            member_id: {
                topic_id: frozenset(self._held[topic_id][member_id])
                for topic_id in sorted(self._held)
                if self._held[topic_id].get(member_id)
            }
            for member_id in self._loads
        }
