"""The uniform assignor: everybody gets as much as everybody else, and keeps what it has as far as that goes.

Topics with the same readers make a **pool** of partitions; any of its readers can have any of it.

1. Each member keeps those of its partitions that it still reads.
2. Partitions that are nobody's go, one by one, to the reader with the fewest. Pools with few readers for their
   partitions come first, since there is the least choice.
3. While some reader that holds of a pool has at least two more than another reader of it, one of these moves from the
   reader with the most to the one with the fewest.

Every move of step 3 makes the sum of squares of the loads smaller, so it ends, and then no move of a single partition
makes it fairer. If all members read the same topics there is one pool: the loads then differ by one at most, and no
partition moves that need not, since only members above their share lose any, and only down to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush, heapreplace
from uuid import UUID

from strandline.groups.assignment import Assignment, IdPartition, assignment_of, partitions_of
from strandline.groups.assignors import Assignee

Loads = dict[str, int]  # how many partitions each member has, of all pools


def assign_uniformly(members: Mapping[str, Assignee], partition_counts: Mapping[UUID, int]) -> dict[str, Assignment]:
    loads = dict.fromkeys(members, 0)
    pools = _pools(members, partition_counts)
    for pool in pools:
        pool.keep(members, loads)
    for pool in pools:
        pool.hand_out(loads)
    while sum(pool.level(loads) for pool in pools):
        pass
    return {
        member_id: assignment_of(partition for pool in pools for partition in pool.held.get(member_id, ()))
        for member_id in members
    }


def _pools(members: Mapping[str, Assignee], partition_counts: Mapping[UUID, int]) -> list[_Pool]:
    by_readers: dict[tuple[str, ...], set[IdPartition]] = {}
    for topic_id, count in partition_counts.items():
        readers = tuple(sorted(member_id for member_id in members if topic_id in members[member_id].topics))
        if readers:
            by_readers.setdefault(readers, set()).update((topic_id, number) for number in range(count))
    pools = [_Pool(readers, partitions) for readers, partitions in by_readers.items()]
    return sorted(pools, key=lambda pool: (-len(pool.free) / len(pool.readers), len(pool.readers), pool.readers))


class _Pool:
    __slots__ = ("free", "held", "readers")

    def __init__(self, readers: tuple[str, ...], partitions: set[IdPartition]) -> None:
        self.readers = readers
        self.free = partitions
        self.held: dict[str, list[IdPartition]] = {}

    def keep(self, members: Mapping[str, Assignee], loads: Loads) -> None:
        for member_id in self.readers:
            kept = self.free & partitions_of(members[member_id].assigned)
            self.free -= kept
            self.held[member_id] = sorted(kept)
            loads[member_id] += len(kept)

    def hand_out(self, loads: Loads) -> None:
        fewest = self._by_load(loads)
        for partition in sorted(self.free):
            member_id = fewest[0][1]
            self.held[member_id].append(partition)
            loads[member_id] += 1
            heapreplace(fewest, (loads[member_id], member_id))

    def _by_load(self, loads: Loads) -> list[tuple[int, str]]:
        heap = [(loads[member_id], member_id) for member_id in self.readers]
        heapify(heap)
        return heap

    def level(self, loads: Loads) -> int:
        """How many partitions moved."""
        fewest = self._by_load(loads)
        most = [(-loads[member_id], member_id) for member_id in self.readers if self.held[member_id]]
        heapify(most)
        moves = 0
        while most:
            giver, taker = most[0][1], fewest[0][1]
            # An entry whose load is not its member's any more is put right when it comes up.
            if -most[0][0] != loads[giver]:
                heapreplace(most, (-loads[giver], giver))
            elif fewest[0][0] != loads[taker]:
                heapreplace(fewest, (loads[taker], taker))
            elif loads[giver] - loads[taker] < 2:
                break
            elif not self.held[giver]:
                heappop(most)
            else:
                self._move(giver, taker, loads)
                heappush(most, (-loads[taker], taker))
                moves += 1
        return moves

    def _move(self, giver: str, taker: str, loads: Loads) -> None:
        self.held[taker].append(self.held[giver].pop())
        loads[giver] -= 1
        loads[taker] += 1
