"""What becomes of a partition's leadership: a list of rules, of which the first that has something to say decides.

1. A partition without a leadership gets one: the first live replica leads, all live replicas are in sync.
2. A leader that is missing is replaced from the ISR, or not at all: then the partition waits, with the ISR as it was,
   for none of those in it has missed a committed record. Only where an unclean election is allowed does it not wait.
3. A leader that shuts down or is no longer assigned hands over, if there is somebody; it still serves, so it can
   wait.
4. Replicas with a fault leave the ISR.
5. A partition that moves: the replicas are told of it; when the whole target is in sync, the rest is dropped. They are
   also told when a move was cancelled, or the leader might still take a new replica into the ISR.
6. The preferred replica takes over, when somebody wants it to.

Every rule looks at what is committed and at who is there, never at what was done before. So it does not matter which
controller decides, nor how often: one that takes over in the middle does the same.

A **restarted** broker counts as missing until one leadership was written without trusting it, even if it was away so
shortly that nobody noticed: it may have lost what it had acknowledged and not flushed. If it alone is in the ISR it
leads again, in a new epoch.
"""

from __future__ import annotations

from typing import NamedTuple

from strandline.controller.elections import (
    controlled_shutdown_election,
    offline_election,
    preferred_election,
    reassignment_election,
    unclean_election,
)
from strandline.controller.journal import LeadershipChanged, Occasion
from strandline.controller.situation import Fault, Situation
from strandline.controller.values import FIRST_LEADER_EPOCH, NO_LEADER, Leadership, ids_text


class Decision(NamedTuple):
    leadership: Leadership
    entry: LeadershipChanged
    completes_move: bool = False


def decide(situation: Situation) -> Decision | None:
    current = situation.leadership
    if current is None:
        return first_leadership(situation)
    if situation.is_missing(current.leader):
        return replace_missing_leader(situation, current)
    if situation.faults.get(current.leader) is Fault.UNASSIGNED:
        return relieve_leader(situation, current)  # or nothing: it would not be told of a new epoch
    return (
        relieve_leader(situation, current)
        or shrink_isr(situation, current)
        or move_replicas(situation, current)
        or restore_preferred_leader(situation, current)
    )


def first_leadership(situation: Situation) -> Decision | None:
    live = situation.live
    if not live:
        return None
    cause = f"created on {ids_text(situation.replicas)}"
    if live != situation.replicas:
        cause += f", alive are {ids_text(live)}"
    leadership = Leadership(live[0], FIRST_LEADER_EPOCH, live, situation.controller_epoch)
    return _decision(situation, Occasion.CREATED, cause, leadership)


def replace_missing_leader(situation: Situation, current: Leadership) -> Decision | None:
    candidates = situation.live
    leader = offline_election(situation.replicas, current.isr, candidates)
    if leader is None:
        candidates = situation.live_or_restarted
        leader = offline_election(situation.replicas, current.isr, candidates)
    if leader is not None:
        isr = tuple(broker_id for broker_id in current.isr if broker_id in candidates)
        return _elected(situation, current, Occasion.OFFLINE_ELECTION, _why_missing(situation, current), leader, isr)
    if situation.may_be_unclean:
        leader = unclean_election(situation.replicas, candidates)
        if leader is not None:
            return _elected_unclean(situation, current, leader)
    if current.leader == NO_LEADER:
        return None
    leadership = current.followed_by(NO_LEADER, current.isr, situation.controller_epoch)
    return _decision(situation, Occasion.LEADER_LOST, _why_missing(situation, current), leadership)


def relieve_leader(situation: Situation, current: Leadership) -> Decision | None:
    fault = situation.faults.get(current.leader)
    if fault is None:
        return None
    shutting_down = {broker_id for broker_id, why in situation.faults.items() if why is Fault.SHUTTING_DOWN}
    leader = controlled_shutdown_election(situation.replicas, current.isr, situation.live, shutting_down)
    if leader is None:
        return None
    isr = tuple(broker_id for broker_id in current.isr if broker_id in situation.live)
    cause = f"leader {current.leader} {fault.value}"
    return _elected(situation, current, Occasion.CONTROLLED_SHUTDOWN, cause, leader, isr)


def shrink_isr(situation: Situation, current: Leadership) -> Decision | None:
    gone = [broker_id for broker_id in current.isr if broker_id in situation.faults and broker_id != current.leader]
    if not gone:
        return None
    cause = " and ".join(f"replica {broker_id} {situation.faults[broker_id].value}" for broker_id in gone)
    isr = tuple(broker_id for broker_id in current.isr if broker_id not in gone)
    leadership = current.followed_by(current.leader, isr, situation.controller_epoch)
    return _decision(situation, Occasion.ISR_SHRUNK, cause, leadership)


def move_replicas(situation: Situation, current: Leadership) -> Decision | None:
    assignment, announced = situation.assignment, situation.announced
    if assignment.is_moving and set(assignment.target) <= set(current.isr):
        return _complete_move(situation, current)
    if announced == assignment or (announced is None and not assignment.is_moving):
        return None
    # The leader takes another list of replicas only in a new epoch.
    leadership = current.followed_by(current.leader, current.isr, situation.controller_epoch)
    if not assignment.is_moving:
        cause = f"replicas changed to {assignment}"
        return _decision(situation, Occasion.REPLICAS_CHANGED, cause, leadership)
    cause = f"moves from {ids_text(assignment.origin)} to {ids_text(assignment.target)}"
    return _decision(situation, Occasion.REASSIGNMENT_STARTED, cause, leadership)


def _complete_move(situation: Situation, current: Leadership) -> Decision | None:
    target = situation.assignment.target
    leader: int | None = current.leader
    if leader not in target:
        leader = reassignment_election(target, current.isr, situation.live)
    if leader is None:
        return None
    isr = tuple(broker_id for broker_id in current.isr if broker_id in target)
    leadership = current.followed_by(leader, isr, situation.controller_epoch)
    cause = f"all of {ids_text(target)} are in ISR {ids_text(current.isr)}"
    decision = _decision(situation, Occasion.REASSIGNMENT_COMPLETED, cause, leadership)
    return decision._replace(completes_move=True)


def restore_preferred_leader(situation: Situation, current: Leadership) -> Decision | None:
    if situation.preference is None or current.leader == situation.assignment.preferred:
        return None
    leader = preferred_election(situation.replicas, current.isr, situation.live)
    if leader is None:
        return None
    return _elected(situation, current, Occasion.PREFERRED_ELECTION, situation.preference, leader, current.isr)


def _elected(
    situation: Situation, current: Leadership, occasion: Occasion, cause: str, leader: int, isr: tuple[int, ...]
) -> Decision:
    leadership = current.followed_by(leader, isr, situation.controller_epoch)
    return _decision(situation, occasion, cause, leadership)


def _elected_unclean(situation: Situation, current: Leadership, leader: int) -> Decision:
    leadership = current.followed_by(leader, (leader,), situation.controller_epoch, is_recovering=True)
    return _decision(situation, Occasion.UNCLEAN_ELECTION, _why_missing(situation, current), leadership)


def _decision(situation: Situation, occasion: Occasion, cause: str, leadership: Leadership) -> Decision:
    entry = LeadershipChanged(situation.partition, occasion, cause, situation.leadership, leadership, situation.live)
    return Decision(leadership, entry)


def _why_missing(situation: Situation, current: Leadership) -> str:
    if current.leader == NO_LEADER:
        return f"had no leader, alive are {ids_text(situation.live_or_restarted)}"
    return f"leader {current.leader} {situation.faults[current.leader].value}"
