"""Brokers come, go, come back and shut down (SPEC R6, R9, R10).

A broker that was away and is back before anybody looked has a new epoch: it is treated as lost and new at once
(KAFKA-7235). What it led or had in sync is decided again without trusting it, and only then does it get its orders: a
leader that comes back must not lead on in its old epoch, for followers would cut their logs to what it has left.
"""

from __future__ import annotations

from collections.abc import Iterable

from strandline.controller.changes import DropNotifications, NotificationKind
from strandline.controller.cluster import Cluster, Partition
from strandline.controller.deletion import replica_lost, replica_returned
from strandline.controller.draft import Draft
from strandline.controller.events import BrokersSeen, LeaderAndIsrAnswered, LogDirFailuresSeen
from strandline.controller.journal import BrokerHappened
from strandline.controller.replies import ControlledShutdownReply
from strandline.controller.requests import ControlledShutdownRequest
from strandline.controller.states import PartitionState, ReplicaState
from strandline.controller.values import LiveBroker
from strandline.controller.waiting import ShutdownWaiter
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition


def brokers_seen(draft: Draft, event: BrokersSeen) -> None:
    cluster = draft.cluster
    seen = {broker.broker_id: broker for broker in event.brokers}
    gone = [broker_id for broker_id in cluster.brokers if broker_id not in seen]
    bounced = [
        broker_id
        for broker_id, broker in cluster.brokers.items()
        if broker_id in seen and seen[broker_id].broker_epoch > broker.broker_epoch
    ]
    new = [broker_id for broker_id in seen if broker_id not in cluster.brokers]
    same = [
        broker_id
        for broker_id, broker in cluster.brokers.items()
        if broker_id in seen and seen[broker_id].broker_epoch == broker.broker_epoch
    ]
    lose_brokers(draft, (*gone, *bounced))
    register_brokers(draft, [seen[broker_id] for broker_id in sorted((*new, *bounced))])
    change_addresses(draft, [seen[broker_id] for broker_id in same])


def lose_brokers(draft: Draft, broker_ids: Iterable[int]) -> None:
    cluster = draft.cluster
    lost = sorted(broker_ids)
    for broker_id in lost:
        broker = cluster.brokers.pop(broker_id)
        was_shutting_down = broker_id in cluster.shutting_down
        cluster.shutting_down.discard(broker_id)
        cluster.without_list.discard(broker_id)
        cluster.offline_replicas.pop(broker_id, None)
        what = "has shut down" if was_shutting_down else "lost"
        draft.journal(BrokerHappened(broker_id, f"{what}, broker epoch {broker.broker_epoch}"))
        draft.outbox.tell_brokers()
    for broker_id in lost:
        for partition in cluster.partitions_on(broker_id):
            lose_replica(draft, partition, broker_id)


def lose_replica(draft: Draft, partition: Partition, broker_id: int) -> None:
    if draft.cluster.topics[partition.name.topic].is_going:
        replica_lost(partition, broker_id)
        return
    partition.replica_becomes(broker_id, ReplicaState.OFFLINE)
    if partition.leader == broker_id:
        partition.become(PartitionState.OFFLINE)
    # What is under way may put it into the ISR; or its leader has, and we have had no notice yet. When that is known,
    # so is whether it matters.
    if partition.leadership is not None or partition.under_way is not None:
        partition.lost.add(broker_id)
        partition.excused -= {broker_id}  # what is under way was decided before it went again
        partition.must_read |= partition.leadership is not None and broker_id not in partition.isr
    partition.is_told = False
    draft.touch(partition)


def register_brokers(draft: Draft, brokers: Iterable[LiveBroker]) -> None:
    for broker in brokers:
        draft.cluster.brokers[broker.broker_id] = broker
        draft.journal(BrokerHappened(broker.broker_id, f"registered, broker epoch {broker.broker_epoch}"))
        draft.outbox.welcome(broker.broker_id)
        for partition in draft.cluster.partitions_on(broker.broker_id):
            return_replica(draft, partition, broker.broker_id)


def return_replica(draft: Draft, partition: Partition, broker_id: int) -> None:
    if draft.cluster.topics[partition.name.topic].is_going:
        replica_returned(draft, partition, broker_id)
        draft.touch_topic(draft.cluster.topics[partition.name.topic])
        return
    partition.replica_becomes(broker_id, ReplicaState.ONLINE)
    if partition.leader == broker_id and broker_id not in partition.lost:
        partition.become(PartitionState.ONLINE)
    partition.unordered.add(broker_id)
    partition.is_told = False
    draft.touch(partition)


def change_addresses(draft: Draft, brokers: Iterable[LiveBroker]) -> None:
    for broker in brokers:
        if draft.cluster.brokers[broker.broker_id] != broker:
            draft.cluster.brokers[broker.broker_id] = broker
            draft.outbox.tell_brokers()


def log_dir_failures_seen(draft: Draft, event: LogDirFailuresSeen) -> None:
    """Which replicas are gone with a directory, their broker says when it is given its orders again. One that is back
    since then gets them when it is decided what they are."""
    for broker_id in sorted(event.broker_ids):
        draft.journal(BrokerHappened(broker_id, "has lost a log directory"))
        for partition in draft.cluster.partitions_on(broker_id):
            shall_go = draft.cluster.topics[partition.name.topic].shall_go
            if not shall_go and broker_id not in partition.unordered:
                draft.outbox.order(partition, broker_id)
    if event.names:
        draft.write(DropNotifications(NotificationKind.LOG_DIR_EVENT, event.names))


def leader_and_isr_answered(draft: Draft, event: LeaderAndIsrAnswered) -> None:
    offline = draft.cluster.offline_replicas.setdefault(event.broker_id, set())
    failed: list[TopicPartition] = []
    for name, error_code in event.partitions.items():
        partition = draft.cluster.partition(name)
        if partition is None or event.broker_id not in partition.replicas:
            continue
        if error_code is ErrorCode.KAFKA_STORAGE_ERROR and name not in offline:
            offline.add(name)
            failed.append(name)
            lose_replica(draft, partition, event.broker_id)
        elif error_code is ErrorCode.NONE and name in offline:
            offline.discard(name)
            return_replica(draft, partition, event.broker_id)
    if failed:
        what = f"replicas offline with their log directory: {' '.join(map(str, failed))}"
        draft.journal(BrokerHappened(event.broker_id, what))


def controlled_shutdown(draft: Draft, request: ControlledShutdownRequest) -> None:
    cluster, broker_id = draft.cluster, request.broker_id
    broker = cluster.brokers.get(broker_id)
    if broker is None:
        why = f"broker {broker_id} is not registered"
        draft.reply(ControlledShutdownReply(request.request, ErrorCode.BROKER_NOT_AVAILABLE, why))
        return
    if request.broker_epoch < broker.broker_epoch:
        why = f"broker {broker_id} is registered with epoch {broker.broker_epoch}, not {request.broker_epoch}"
        draft.reply(ControlledShutdownReply(request.request, ErrorCode.STALE_BROKER_EPOCH, why))
        return
    if broker_id not in cluster.shutting_down:
        cluster.shutting_down.add(broker_id)
        draft.journal(BrokerHappened(broker_id, "is shutting down"))
    concerned = [
        partition
        for partition in cluster.partitions_on(broker_id)
        if len(partition.assignment.replicas) > 1 and not cluster.topics[partition.name.topic].shall_go
    ]
    movable = (partition.name for partition in concerned if has_another(cluster, partition, broker_id))
    waiter = ShutdownWaiter(request.request, broker_id, (partition.name for partition in concerned), movable)
    for partition in concerned:
        if broker_id not in partition.isr:
            draft.outbox.stop(partition, broker_id, delete=False)
        elif not any(one in partition.isr and one not in cluster.shutting_down for one in cluster.brokers):
            partition.must_read = True  # others may be in sync by now, of which we have had no notice yet
        partition.waiters.append(waiter)
        draft.touch(partition)
    draft.wait(waiter)


def has_another(cluster: Cluster, partition: Partition, broker_id: int) -> bool:
    """Whether one of the others may lead it, now or when it has caught up: only for that is it worth waiting."""
    others = [one for one in partition.assignment.replicas if one != broker_id and one not in cluster.shutting_down]
    return any(cluster.is_there(one, partition.name) for one in others)
