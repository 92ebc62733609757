"""The loads by name, and which of them a run has."""

from __future__ import annotations

from random import Random

from strandline.simulation.compaction_load import CompactionLoad
from strandline.simulation.deletion_load import DeletionLoad
from strandline.simulation.flush_load import FlushLoad
from strandline.simulation.group_load import GroupLoad
from strandline.simulation.load import Load
from strandline.simulation.options import RECORDS
from strandline.simulation.reassignment_load import ReassignmentLoad
from strandline.simulation.retention_load import RetentionLoad
from strandline.simulation.transaction_load import TransactionLoad

KINDS: dict[str, type[Load]] = {
    load.name: load
    for load in (TransactionLoad, GroupLoad, DeletionLoad, ReassignmentLoad, RetentionLoad, CompactionLoad, FlushLoad)
}
LOADS = (RECORDS, *KINDS)


def loads_of(seed: int) -> tuple[str, ...]:
    """Where nobody says which: one or more, drawn from a stream of their own."""
    chance = Random(f"{seed}/loads")
    return tuple(sorted(chance.sample(LOADS, chance.randint(1, len(LOADS))), key=LOADS.index))
