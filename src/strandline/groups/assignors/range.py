"""The range assignor: of every topic, each member gets a run of neighbouring partitions.

Members stand in line, static members first by their instance, then the others by id. Of topics with equally many
partitions and the same readers everybody so gets the same numbers, and can join them (co-partitioning). The first in
line get one more where it does not come out even, for every topic anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from strandline.groups.assignment import Assignment
from strandline.groups.assignors import Assignee


def assign_range(members: Mapping[str, Assignee], partition_counts: Mapping[UUID, int]) -> dict[str, Assignment]:
    line = sorted(members, key=lambda member_id: _place_in_line(member_id, members[member_id]))
    result: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in members}
    for topic_id in sorted(partition_counts):
        readers = [member_id for member_id in line if topic_id in members[member_id].topics]
        first = 0
        for place, member_id in enumerate(readers):
            share, left_over = divmod(partition_counts[topic_id], len(readers))
            end = first + share + (place < left_over)
            if first < end:
                result[member_id][topic_id] = frozenset(range(first, end))
            first = end
    return dict(result)


def _place_in_line(member_id: str, member: Assignee) -> tuple[bool, str]:
    return member.instance_id is None, member_id if member.instance_id is None else member.instance_id
