"""The states of groups and of members, and what may follow what.

A **classic** group's generation is formed in two rounds, JoinGroup and SyncGroup, which all members wait for:

    EMPTY                 no members; lives on until its offsets have expired. Join starts the first rebalance.
    PREPARING_REBALANCE   JoinGroup requests are parked until every member has come, or its time is up. Heartbeats and
                          syncs hear REBALANCE_IN_PROGRESS, so that they come; commits of the old generation pass.
    COMPLETING_REBALANCE  the generation is known; SyncGroup requests are parked until the leader's brings the
                          assignment. Commits hear REBALANCE_IN_PROGRESS.
    STABLE                the assignment is stored; a sync is answered from it.
    DEAD                  removed; nothing follows.

A **consumer** group (KIP-848) has no rounds, and its state is only a summary: what is behind what. Its group epoch goes
up when members or topics change, the assignment epoch follows when a new target is computed, and each member's epoch
follows when that member has given up what it must.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from strandline.model.failures import check


class ClassicState(Enum):
    """The values are the names that clients see."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


MAY_BECOME: dict[ClassicState, frozenset[ClassicState]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}),
    ClassicState.PREPARING_REBALANCE: frozenset(
        {ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY, ClassicState.DEAD}
    ),
    ClassicState.COMPLETING_REBALANCE: frozenset(
        {ClassicState.STABLE, ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}
    ),
    ClassicState.STABLE: frozenset({ClassicState.PREPARING_REBALANCE, ClassicState.DEAD}),
    ClassicState.DEAD: frozenset(),
}


def check_transition(group: str, state: ClassicState, following: ClassicState) -> None:
    check(following in MAY_BECOME[state], f"group {group} cannot go from {state.value} to {following.value}")


class ConsumerGroupState(Enum):
    """The values are the names that clients see."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"  # the target assignment is older than the group
    RECONCILING = "Reconciling"  # some member is not yet at the target assignment
    STABLE = "Stable"


class MemberState(IntEnum):
    """Where a member of a consumer group stands with its target; the numbers are stored."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # it must give up partitions before it may have the next epoch
    UNRELEASED_PARTITIONS = 2  # it has the epoch, and waits for partitions that others have not given up
    UNKNOWN = 127  # stored by software newer than ours

    @classmethod
    def of(cls, stored: int) -> MemberState:
        return cls(stored) if stored in cls._value2member_map_ else cls.UNKNOWN
