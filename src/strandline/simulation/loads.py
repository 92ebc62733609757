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
    """Where nobody says which: one or two, sometimes many, drawn from a stream of their own. What there is of one load
    costs as much in a crowd, and more to look at: one crowd takes the time of ten others."""
    chance = Random(f"{seed}/loads")
    (count,) = chance.choices((1, 2, 3, len(LOADS)), (20, 8, 4, 1))
    return tuple(sorted(chance.sample(LOADS, count), key=LOADS.index))
