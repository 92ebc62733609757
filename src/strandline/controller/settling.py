"""Bringing partitions to rest: what an event has touched is looked at again until there is nothing to decide.

    touched ──▶ nothing under way? ──▶ rules.decide ──▶ a change ──▶ Write ──▶ WriteAnswered ──▶ touched
                                            │                                      │ declined, unknown
                                            ▼ nothing                              ▼
                                       at rest: tell, answer            ReadPartitions ──▶ PartitionsRead ──▶ touched

Replicas get their orders when a new epoch is in the store, and at no other time but when they come back.
"""

from __future__ import annotations

from strandline.controller.assignments import write_wanted_assignments
from strandline.controller.changes import CreateLeadership, LeadershipChange, SetLeadership
from strandline.controller.cluster import Partition, Reading, Topic
from strandline.controller.deletion import settle_deletion
from strandline.controller.draft import Draft
from strandline.controller.moves import finish_move
from strandline.controller.rules import Decision, decide
from strandline.controller.states import PartitionState, ReplicaState
from strandline.controller.values import Leadership
from strandline.model.partitions import TopicPartition


def settle(draft: Draft) -> None:
    while draft.touched or draft.touched_topics:
        partitions, draft.touched = draft.touched, {}
        for partition in partitions.values():
            settle_partition(draft, partition)
        topics, draft.touched_topics = draft.touched_topics, {}
        for topic in topics.values():
            if topic.shall_go:
                settle_deletion(draft, topic)
            else:
                write_wanted_assignments(draft, topic)


def settle_partition(draft: Draft, partition: Partition) -> None:
    if partition.under_way is not None or draft.cluster.partition(partition.name) is not partition:
        return  # an answer will come; or its topic has gone
    topic = draft.cluster.topics[partition.name.topic]
    if topic.shall_go:
        draft.touch_topic(topic)
    elif partition.must_read:
        draft.read(partition)
        return
    else:
        partition.lost &= {partition.leader, *partition.isr}  # to whom else it makes no difference
        decision = decide(draft.cluster.situation(partition))
        if decision is not None:
            if not is_out_of_date(topic, partition, decision):
                draft.change_leadership(partition, change_of(partition, decision))
            return
        dismiss_leaving(draft, partition)
        order_returned(draft, partition)
        if not partition.is_told:
            draft.outbox.tell(partition)
    partition.election, partition.allows_unclean = None, False
    waiters, partition.waiters = partition.waiters, []
    for waiter in waiters:
        draft.settled(waiter, partition)


def is_out_of_date(topic: Topic, partition: Partition, decision: Decision) -> bool:
    """Another assignment is on its way, and it is decided again when that is there: a move must not be completed that
    was replaced or cancelled, nor somebody lead alone who shall not have the partition any more."""
    planned = topic.planned(partition.name.partition)
    if planned is None or planned == partition.assignment:
        return False
    return decision.completes_move or not set(decision.leadership.isr) & set(planned.replicas)


def change_of(partition: Partition, decision: Decision) -> LeadershipChange:
    current = partition.leadership
    if current is None:
        return CreateLeadership(partition.name, decision.leadership, decision.entry)
    return SetLeadership(
        partition.name, decision.leadership, current.partition_epoch, decision.entry, decision.completes_move
    )


def leadership_committed(draft: Draft, name: TopicPartition, change: LeadershipChange) -> None:
    partition = draft.cluster.partition(name)
    if partition is None or partition.change_under_way is not change:
        return  # the topic has gone meanwhile
    partition.under_way = None
    partition.is_contested = False
    partition.lost -= partition.excused
    draft.journal(change.entry)
    if isinstance(change, SetLeadership) and change.completes_move:
        finish_move(draft, draft.cluster.topics[name.topic], partition, change.leadership)
    adopt(draft, partition, change.leadership)
    draft.touch(partition)


def leadership_uncertain(draft: Draft, name: TopicPartition, change: LeadershipChange) -> None:
    """Written or not, or by somebody else: only the znode knows."""
    partition = draft.cluster.partition(name)
    if partition is not None and partition.under_way is change:
        partition.is_contested = True
        draft.read(partition, change)


def leadership_read(
    draft: Draft, name: TopicPartition, found: Leadership | None, restarted: frozenset[int] = frozenset()
) -> None:
    partition = draft.cluster.partition(name)
    if partition is None or not isinstance(partition.under_way, Reading):
        return
    change = partition.under_way.after
    partition.lost |= restarted  # perhaps while nobody here knew that they are replicas, or in sync
    partition.excused -= restarted
    if change is not None and found == change.leadership:
        leadership_committed(draft, name, change)  # it was written, only the answer was lost (KAFKA-14144)
        return
    partition.under_way = None
    if found is None:
        draft.read_topic(name.topic)  # somebody may have taken it away; if it is there, we go on from it
        return
    if found.controller_epoch > draft.cluster.controller_epoch:
        draft.resign(f"controller epoch {found.controller_epoch} has written partition {name}")
    elif found != partition.leadership:
        if partition.leadership is None:
            take_as_made(partition)
        adopt(draft, partition, found)
    draft.touch(partition)


def take_as_made(partition: Partition) -> None:
    """Somebody else has written the first leadership, so there may be logs already."""
    for broker_id, state in partition.replicas.items():
        if state is ReplicaState.NEW:
            partition.replica_becomes(broker_id, ReplicaState.ONLINE)


def adopt(draft: Draft, partition: Partition, leadership: Leadership) -> None:
    """This is in the store: everybody must hear of it, and its replicas if it is a new epoch."""
    before, partition.leadership = partition.leadership, leadership
    is_led = draft.cluster.is_there(leadership.leader, partition.name)
    partition.become(PartitionState.ONLINE if is_led else PartitionState.OFFLINE)
    partition.lost.update(draft.cluster.away(partition))
    if before is None or before.leader_epoch != leadership.leader_epoch:
        order_replicas(draft, partition)
    draft.outbox.tell(partition)


def order_replicas(draft: Draft, partition: Partition) -> None:
    cluster, leadership = draft.cluster, partition.leadership
    partition.announced = partition.assignment
    partition.unordered.clear()
    for broker_id in partition.assignment.replicas:
        if not cluster.is_there(broker_id, partition.name):
            continue
        draft.outbox.order(partition, broker_id)
        if leadership is not None and broker_id in leadership.isr:
            if partition.replicas[broker_id] is ReplicaState.NEW:
                partition.replica_becomes(broker_id, ReplicaState.ONLINE)
        elif broker_id in cluster.shutting_down:
            draft.outbox.stop(partition, broker_id, delete=False)


def order_returned(draft: Draft, partition: Partition) -> None:
    for broker_id in sorted(partition.unordered):
        if broker_id in partition.assignment.replicas:
            draft.outbox.order(partition, broker_id)
    partition.unordered.clear()


def dismiss_leaving(draft: Draft, partition: Partition) -> None:
    """Replicas that are assigned no more, and out of the ISR, delete what they have. Nobody waits for their answer: one
    that does not hear it finds out when it registers again, for its full list of replicas will not have it.
    """
    for broker_id in partition.leaving:
        draft.outbox.stop(partition, broker_id, delete=True)
        if partition.replicas[broker_id] is not ReplicaState.OFFLINE:
            partition.replica_becomes(broker_id, ReplicaState.OFFLINE)
        partition.replica_becomes(
            broker_id, ReplicaState.DELETION_STARTED, ReplicaState.DELETION_SUCCESSFUL, ReplicaState.NON_EXISTENT
        )
        draft.cluster.forget_replica(partition, broker_id)
