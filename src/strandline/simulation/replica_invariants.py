"""What must be true of each replica at every moment; what its log keeps beside its batches is what they say
(`epochs_are_true`, `producers_are_true`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from strandline.simulation.epochs_are_true import EpochsAreTrue
from strandline.simulation.observed import PartitionTruth, Replica
from strandline.simulation.producers_are_true import ProducersAreTrue


class ReplicaInvariant(Protocol):
    """Looks at one replica, after a step that changed something about it."""

    name: str

    def check(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]: ...


class FlushedIsThere:
    """Nothing counts as flushed beyond the end of its log (KAFKA-10101)."""

    name = "FlushedIsThere"

    def check(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]:  # noqa: ARG002
        log = replica.log
        if log is not None and log.recovery_point > log.log_end_offset and replica.readable_log is log:
            yield f"{replica.broker_id} has flushed up to {log.recovery_point}, and ends at {log.log_end_offset}"


class EnoughToCommit:
    """A leader with fewer in sync than `min.insync.replicas` commits nothing (KIP-966). Whoever was so before a step
    and is so after it was so all the time: one step brings no more than one answer of the store."""

    name = "EnoughToCommit"

    def __init__(self) -> None:
        self._under: dict[Replica, tuple[int, int]] = {}  # the epoch and the high watermark of those who have too few

    def check(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]:  # noqa: ARG002
        before = self._under.pop(replica, None)
        if replica.leads_in is None or not replica.is_under_min_isr:
            return
        self._under[replica] = (replica.leads_in, replica.counted_watermark)
        if before is not None and before[0] == replica.leads_in and before[1] < replica.counted_watermark:
            yield (
                f"leader {replica.broker_id} has too few in sync, {replica.isr}, and its high watermark goes from"
                f" {before[1]} to {replica.counted_watermark}"
            )


REPLICA_INVARIANTS = (EnoughToCommit, FlushedIsThere, EpochsAreTrue, ProducersAreTrue)
