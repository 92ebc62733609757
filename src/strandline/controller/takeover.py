"""A new controller takes over, from the znodes alone (SPEC R7).

Every broker hears who is there, what there is and what it has to do, in the new controller epoch. Then every
partition is looked at, as if all of them had just been touched: what the last controller had begun is gone on with,
for the rules do not ask who began.

The last controller may not have lived to see that a broker was away: a broker alone takes its controller with it. Who
has registered since a leadership was written is not trusted with it, as if we had seen it go and come (KAFKA-7235).
Nor may it have lived to tell a replica that its move was taken back: as long as that is in the ISR it keeps its log.
"""

from __future__ import annotations

from strandline.controller.cluster import Cluster, Topic
from strandline.controller.draft import Draft
from strandline.controller.effects import SetTimer, TimerKind
from strandline.controller.events import Snapshot
from strandline.controller.journal import ControllerHappened
from strandline.controller.settings import FIRST_REBALANCE_DELAY_MS
from strandline.controller.states import PartitionState, ReplicaState
from strandline.controller.values import counted, ids_text


def take_over(draft: Draft, snapshot: Snapshot) -> None:
    cluster = draft.cluster
    for broker in snapshot.brokers:
        cluster.brokers[broker.broker_id] = broker
    cluster.unclean_topics.update(snapshot.unclean_topics)
    for name, (assignment, version) in sorted(snapshot.topics.items()):
        topic = cluster.new_topic(name, assignment, version)
        topic.shall_go = name in snapshot.deletion_requests and cluster.settings.delete_topic_enable
        cluster.add_topic(topic)
        restore_partitions(cluster, topic, snapshot)
    brokers = ids_text(sorted(cluster.brokers))
    what = f"takes over with brokers {brokers} and {counted(len(cluster.topics), 'topic')}"
    draft.journal(ControllerHappened(cluster.controller_id, cluster.controller_epoch, what))
    order_everything(draft)
    if cluster.settings.auto_leader_rebalance_enable:
        draft.set_timer(SetTimer(TimerKind.REBALANCE, draft.now_ms + FIRST_REBALANCE_DELAY_MS))


def restore_partitions(cluster: Cluster, topic: Topic, snapshot: Snapshot) -> None:
    for partition in topic.partitions.values():
        partition.leadership = snapshot.leaderships.get(partition.name)
        if partition.leadership is None:
            continue
        cluster.know_in_sync(partition)
        partition.lost.update(snapshot.restarted.get(partition.name, ()))
        partition.lost.update(cluster.away(partition))
        is_led = cluster.is_there(partition.leader, partition.name) and partition.leader not in partition.lost
        partition.become(PartitionState.ONLINE if is_led else PartitionState.OFFLINE)
        # One that is being added may not exist yet. To take one for new that is in sync would be to lose it.
        for broker_id, state in partition.replicas.items():
            is_made = broker_id not in partition.assignment.adding or broker_id in partition.isr
            if state is ReplicaState.NEW and is_made:
                partition.replica_becomes(broker_id, ReplicaState.ONLINE)


def order_everything(draft: Draft) -> None:
    for broker_id in sorted(draft.cluster.brokers):
        draft.outbox.welcome(broker_id)
    for topic in draft.cluster.topics.values():
        draft.touch_topic(topic)
        for partition in topic.partitions.values():
            draft.touch(partition)
            if partition.lost:
                partition.unordered.update(partition.assignment.replicas)  # not before it is decided anew
            elif not topic.shall_go:
                for broker_id in partition.assignment.replicas:
                    draft.outbox.order(partition, broker_id)
