"""The loads by name, and which of them a run has."""

from __future__ import annotations

from random import Random

from strandline.simulation.compaction_load import CompactionLoad
from strandline.simulation.consumer_group_load import ConsumerGroupLoad
from strandline.simulation.copying_load import CopyingLoad
from strandline.simulation.deletion_load import DeletionLoad
from strandline.simulation.flush_load import FlushLoad
from strandline.simulation.group_load import GroupLoad
from strandline.simulation.load import Load
from strandline.simulation.lookup_load import LookupLoad
from strandline.simulation.reassignment_load import ReassignmentLoad
from strandline.simulation.records_load import RecordsLoad
from strandline.simulation.retention_load import RetentionLoad
from strandline.simulation.transaction_load import TransactionLoad

DRAWN_TOGETHER: tuple[type[Load], ...] = (
    RecordsLoad,
    TransactionLoad,
    GroupLoad,
    DeletionLoad,
    ReassignmentLoad,
    RetentionLoad,
    CompactionLoad,
    FlushLoad,
)
JOINING: tuple[tuple[type[Load], float], ...] = (  # with the share of seeds
    (LookupLoad, 0.25),
    (CopyingLoad, 0.15),
    (ConsumerGroupLoad, 0.15),
)
ALL: tuple[type[Load], ...] = (*DRAWN_TOGETHER, *(load for load, _ in JOINING))
KINDS = {load.name: load for load in ALL}
LOADS = tuple(KINDS)


def loads_of(seed: int) -> tuple[str, ...]:
    """Where nobody says which: one or two, sometimes many, drawn from a stream of their own. What there is of one load
    costs as much in a crowd, and more to look at: one crowd takes the time of ten others. Those that look things up
    cost little, and see more where others write: they join any, by a stream of theirs. So do the loads that came later:
    the seeds have kept what they had."""
    chance, names = Random(f"{seed}/loads"), tuple(load.name for load in DRAWN_TOGETHER)
    (count,) = chance.choices((1, 2, 3, len(names)), (20, 8, 4, 1))
    drawn = tuple(sorted(chance.sample(names, count), key=names.index))
    return (*drawn, *(load.name for load, share in JOINING if Random(f"{seed}/{load.name}").random() < share))
