"""Replicas move while clients go on (SPEC T3; KIP-455).

    [1,2,3] to [4,5,6]          replicas            adding   removing  leader  ISR
    as it was                   [1,2,3]                                1       [1,2,3]
    asked for: assignment       [4,5,6,1,2,3]       [4,5,6]  [1,2,3]   1       [1,2,3]
    told: new epoch             [4,5,6,1,2,3]       [4,5,6]  [1,2,3]   1       [1,2,3]
    the new ones catch up       [4,5,6,1,2,3]       [4,5,6]  [1,2,3]   1       [1,2,3,4,5,6]
    handed over: new epoch      [4,5,6,1,2,3]       [4,5,6]  [1,2,3]   4       [4,5,6]
    the old ones delete, done   [4,5,6]                                4       [4,5,6]

The assignment is written first and last: only there is it kept where the partition came from, so whoever is
controller can finish the move or take it back. A move can be replaced by another or cancelled at any time; cancelling
goes back to the old replicas, though not always to their order. The throttle is a matter of settings and of the
brokers.
"""

from __future__ import annotations

from collections.abc import Mapping

from strandline.controller.changes import SetMoveRequests
from strandline.controller.cluster import Cluster, Partition, Topic, WantedAssignment
from strandline.controller.draft import Draft
from strandline.controller.events import MoveRequestsSeen
from strandline.controller.journal import AssignmentChanged
from strandline.controller.replies import PartitionResult
from strandline.controller.requests import AlterReassignmentsRequest
from strandline.controller.states import ReplicaState
from strandline.controller.values import Leadership, ReplicaAssignment, ids_text
from strandline.controller.waiting import PartitionsWaiter
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition


def alter_reassignments(draft: Draft, request: AlterReassignmentsRequest) -> None:
    known: dict[TopicPartition, PartitionResult | None] = {}
    topics: dict[str, Topic] = {}
    for name, target in request.targets.items():
        try:
            topic = want_move(draft, name, target, may_change_factor=request.may_change_factor)
        except Refused as refusal:
            known[name] = PartitionResult(name, refusal.error_code, refusal.reason)
            continue
        known[name] = PartitionResult(name) if topic is None else None
        if topic is not None:
            topics[topic.name] = topic
    supersede_move_requests(draft, [name for name, result in known.items() if result is None])
    waiter = PartitionsWaiter(request.request, known)
    for topic in topics.values():
        topic.waiters.append(waiter)
    draft.wait(waiter)


def want_move(
    draft: Draft, name: TopicPartition, target: tuple[int, ...] | None, *, may_change_factor: bool = True
) -> Topic | None:
    """The topic whose assignment is to be written, or None where it is as wanted already."""
    topic = draft.cluster.topics.get(name.topic)
    partition = None if topic is None or topic.shall_go else topic.partitions.get(name.partition)
    if topic is None or partition is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}")
    planned = topic.planned(name.partition) or partition.assignment
    if target is None and not planned.is_moving:
        raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"partition {name} is not being moved")
    assignment = planned.moved_to(planned.origin if target is None else target)
    if target is not None:
        check_target(draft.cluster, target, assignment)
        if not may_change_factor and len(target) != len(planned.origin):
            why = f"{ids_text(target)} is not as many replicas as {ids_text(planned.origin)}"
            raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, why)
    if assignment == planned:
        return None
    check_leaves_one_in_sync(partition, assignment)
    cause = "move cancelled" if target is None else f"asked to move to {ids_text(target)}"
    topic.wanted[name.partition] = WantedAssignment(assignment, AssignmentChanged(name, cause, planned, assignment))
    draft.touch_topic(topic)
    return topic


def check_target(cluster: Cluster, target: tuple[int, ...], assignment: ReplicaAssignment) -> None:
    if not target:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition needs at least one replica")
    if len(set(target)) < len(target):
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{ids_text(target)} names a broker twice")
    absent = [one for one in assignment.adding if one not in cluster.brokers or one in cluster.shutting_down]
    if absent:
        why = f"brokers {ids_text(absent)} of {ids_text(target)} are not alive"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)


def check_leaves_one_in_sync(partition: Partition, assignment: ReplicaAssignment) -> None:
    """Taking a move back must not drop the only ones that have every record, nor those that soon will be."""
    change = partition.change_under_way
    for isr in (partition.isr, () if change is None else change.leadership.isr):
        if isr and not set(isr) & set(assignment.replicas):
            why = f"none of {ids_text(assignment.replicas)} is in ISR {ids_text(isr)}"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)


def finish_move(draft: Draft, topic: Topic, partition: Partition, leadership: Leadership) -> None:
    """The leadership is handed over, in the store. What is left is to write down that it is so, unless another move was
    asked for meanwhile, which goes on from here."""
    before = partition.assignment
    after = ReplicaAssignment(before.target)
    if topic.planned(partition.name.partition) != before or not set(before.target) <= set(leadership.isr):
        return
    for broker_id in before.adding:
        if partition.replicas[broker_id] is ReplicaState.NEW:
            partition.replica_becomes(broker_id, ReplicaState.ONLINE)
    draft.cluster.assign(partition, after)
    entry = AssignmentChanged(partition.name, "move complete", before, after)
    topic.wanted[partition.name.partition] = WantedAssignment(after, entry)
    draft.touch_topic(topic)
    if draft.cluster.move_requests.get(partition.name) == after.replicas:
        supersede_move_requests(draft, [partition.name])


def move_requests_seen(draft: Draft, event: MoveRequestsSeen) -> None:
    """Moves that a tool has put into the store. They replace what was asked for before; what cannot be is dropped."""
    draft.cluster.move_requests = dict(event.requests)
    done = []
    for name, target in event.requests.items():
        try:
            if want_move(draft, name, target) is None and not is_moving_to(draft.cluster, name, target):
                done.append(name)
        except Refused:
            done.append(name)
    supersede_move_requests(draft, done)


def is_moving_to(cluster: Cluster, name: TopicPartition, target: tuple[int, ...]) -> bool:
    planned = cluster.topics[name.topic].planned(name.partition)
    return planned is not None and planned.is_moving and planned.target == target


def supersede_move_requests(draft: Draft, names: list[TopicPartition]) -> None:
    requests = draft.cluster.move_requests
    dropped = [name for name in names if requests.pop(name, None) is not None]
    if dropped:
        draft.write(SetMoveRequests(dict(requests)))


def moving_partitions(
    cluster: Cluster, names: tuple[TopicPartition, ...] | None
) -> Mapping[TopicPartition, ReplicaAssignment]:
    """For ListPartitionReassignments."""
    if names is None:
        wanted = list(cluster.all_partitions())
    else:
        wanted = [partition for name in names if (partition := cluster.partition(name)) is not None]
    return {one.name: one.assignment for one in wanted if one.assignment.is_moving}
