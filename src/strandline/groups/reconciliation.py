"""How a member of a consumer group gets from what it has to its target: give up first, then get (KIP-848).

    STABLE                 has its target, or starts for a new one
    UNREVOKED_PARTITIONS   keeps its epoch and must give up partitions. When its heartbeat no longer names them among
                           those it owns, it goes on to the newest target.
    UNRELEASED_PARTITIONS  has the target's epoch and gets each partition as its former owner gives it up

So a partition is never in two hands: it is somebody's until that member says it has let go, or is put out of the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from strandline.groups.assignment import NOTHING, Assignment, IdPartition, assignment_of, partitions_of
from strandline.groups.consumer_member import ConsumerMember
from strandline.groups.states import MemberState
from strandline.model.failures import ErrorCode, Refused


def reconcile(
    member: ConsumerMember,
    *,
    target_epoch: int,
    target: Assignment,
    owners: Mapping[IdPartition, str],
    owned: frozenset[IdPartition] | None,
) -> ConsumerMember:
    """The member's next step, if it can take one. `owned` is what its heartbeat says it has; None: as before."""
    match member.state:
        case MemberState.STABLE if member.epoch == target_epoch:
            return member
        case MemberState.UNREVOKED_PARTITIONS if _still_owns(owned, partitions_of(member.pending_revocation)):
            return member
        case MemberState.UNREVOKED_PARTITIONS:
            member = member.at_epoch(member.epoch + 1)
        case MemberState.UNKNOWN if owned is None or owned:
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, "the member's state is not known; it must join again")
    return _step(member, target_epoch, partitions_of(target), owners, owned)


def _still_owns(owned: frozenset[IdPartition] | None, revoked: frozenset[IdPartition]) -> bool:
    return owned is None or not owned.isdisjoint(revoked)


def _step(
    member: ConsumerMember,
    target_epoch: int,
    target: frozenset[IdPartition],
    owners: Mapping[IdPartition, str],
    owned: frozenset[IdPartition] | None,
) -> ConsumerMember:
    assigned = partitions_of(member.assigned)
    kept = assigned & target
    revoked = assigned - target
    if revoked and _still_owns(owned, revoked):
        return replace(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned=assignment_of(kept),
            pending_revocation=assignment_of(revoked),
        )
    wanted = target - kept
    # What it has itself just given up is free, though the record that says so is not written yet.
    given_up = partitions_of(member.pending_revocation)
    free = frozenset(partition for partition in wanted if partition not in owners or partition in given_up)
    return replace(
        member.at_epoch(target_epoch),
        state=MemberState.STABLE if free == wanted else MemberState.UNRELEASED_PARTITIONS,
        assigned=assignment_of(kept | free),
        pending_revocation=NOTHING,
    )
