"""What happens to a replica from outside, apart from appends and fetches. Each event prints as one line.

`LeaderAndIsr` is the controller's word. The others tell the leader what became of the ISR that it proposed. A proposal
has three ends, and the third is the one that costs data when it is forgotten:

    IsrCommitted   it is in the store, under this partition epoch
    IsrRefused     it is not in the store and never will be
    IsrUnknown     nobody can say: the connection was lost, or the version did not fit, which may be the work of an
                   earlier try whose answer was lost (KAFKA-14144). The store is read before anything else.

The partition epoch is the version of the partition's state in the store, a znode's version.
"""

from __future__ import annotations

from typing import NamedTuple

from strandline.model.failures import ErrorCode
from strandline.replication.effects import AlterIsr, ids

NO_LEADER = -1


class LeaderAndIsr(NamedTuple):
    leader: int  # NO_LEADER while the partition is offline
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    partition_epoch: int

    def __str__(self) -> str:
        leader = "no leader" if self.leader == NO_LEADER else f"leader {self.leader}"
        return (
            f"{leader} in epoch {self.leader_epoch}, isr {ids(self.isr)} of {ids(self.replicas)}"
            f" (version {self.partition_epoch})"
        )


class IsrCommitted(NamedTuple):
    change: AlterIsr
    partition_epoch: int

    def __str__(self) -> str:
        return f"isr {ids(self.change.isr)} is committed as version {self.partition_epoch}"


class IsrRefused(NamedTuple):
    change: AlterIsr
    error_code: ErrorCode

    def __str__(self) -> str:
        return f"isr {ids(self.change.isr)} is refused with {self.error_code.name}"


class IsrUnknown(NamedTuple):
    change: AlterIsr
    reason: str

    def __str__(self) -> str:
        return f"nobody knows whether isr {ids(self.change.isr)} is committed: {self.reason}"


class PartitionStateRead(NamedTuple):
    """What the store says, after `ReadPartitionState`."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int

    def __str__(self) -> str:
        return (
            f"the store has leader {self.leader} in epoch {self.leader_epoch}, isr {ids(self.isr)}"
            f" (version {self.partition_epoch})"
        )


LeaderEvent = IsrCommitted | IsrRefused | IsrUnknown | PartitionStateRead
