"""Who gets which partitions, decided by the coordinator (KIP-848). An assignor is a function; `assignor` finds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from uuid import UUID

from strandline.groups.assignment import Assignment
from strandline.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignee:
    """A member as an assignor sees it."""

    topics: frozenset[UUID]
    instance_id: str | None = None
    assigned: Assignment = field(default_factory=dict)  # its present target


# Members by id, and how many partitions each topic has; every topic of a member is among them.
Assignor = Callable[[Mapping[str, Assignee], Mapping[UUID, int]], dict[str, Assignment]]


def assignor(name: str) -> Assignor:
    from strandline.groups.assignors.range import assign_range
    from strandline.groups.assignors.uniform import assign_uniformly

    return {"range": assign_range, "uniform": assign_uniformly}[name]
