"""Topics go (SPEC T3).

    request in the store ──▶ nothing under way ──▶ brokers hear that it goes, replicas delete their logs
                                                        │ each answers; one that is away is asked when it is back
                                                        ▼
                                                   all have ──▶ the znodes go, the request last

A replica that was away must not bring the topic back, so the znodes stay until every replica has answered. From the
request on there is no way back, whoever is controller. A move that is under way ends there: its replicas go like the
others.
"""

from __future__ import annotations

from strandline.controller.changes import DropDeletionRequest, RemoveTopic, RequestDeletion
from strandline.controller.cluster import Partition, Topic
from strandline.controller.draft import Draft
from strandline.controller.events import DeletionRequestsSeen
from strandline.controller.journal import TopicHappened
from strandline.controller.moves import supersede_move_requests
from strandline.controller.replies import TopicReply
from strandline.controller.requests import DeleteTopicRequest
from strandline.controller.states import PartitionState, ReplicaState
from strandline.controller.waiting import DeletionWaiter
from strandline.model.failures import ErrorCode, Refused


def delete_topic(draft: Draft, request: DeleteTopicRequest) -> None:
    cluster = draft.cluster
    if not cluster.settings.delete_topic_enable:
        why = "delete.topic.enable is false"
        draft.reply(TopicReply(request.request, request.topic, ErrorCode.TOPIC_DELETION_DISABLED, why))
    elif request.topic not in cluster.topics:
        why = f"there is no topic {request.topic[:80]!r}"
        draft.reply(TopicReply(request.request, request.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why))
    elif request.topic_id not in (None, cluster.topics[request.topic].topic_id):
        why = f"topic {request.topic[:80]!r} is another one, which has its name"
        draft.reply(TopicReply(request.request, request.topic, ErrorCode.UNKNOWN_TOPIC_ID, why))
    elif cluster.topics[request.topic].shall_go:
        draft.reply(TopicReply(request.request, request.topic))
    else:
        waiter = DeletionWaiter(request.request, request.topic)
        cluster.waiters[waiter] = None
        cluster.topics[request.topic].deletion_waiters.append(waiter)
        draft.request_deletion(cluster.topics[request.topic])


def deletion_requested(draft: Draft, name: str) -> None:
    """It is in the store, by our hand or another's."""
    topic = draft.cluster.topics.get(name)
    if topic is None:
        return
    topic.shall_go = True
    draft.touch_topic(topic)
    waiters, topic.deletion_waiters = topic.deletion_waiters, []
    for waiter in waiters:
        draft.wait(waiter)


def deletion_request_uncertain(draft: Draft, change: RequestDeletion) -> None:
    """Again, and alone, to know: unless it was seen meanwhile, or what has the name now is another topic."""
    topic = draft.cluster.topics.get(change.topic)
    if topic is not None and topic.deletion_waiters and not topic.shall_go:
        draft.write(change)


def deletion_requests_seen(draft: Draft, event: DeletionRequestsSeen) -> None:
    for name in sorted(event.topics):
        if name not in draft.cluster.topics or not draft.cluster.settings.delete_topic_enable:
            draft.write(DropDeletionRequest(name))
        else:
            deletion_requested(draft, name)


def settle_deletion(draft: Draft, topic: Topic) -> None:
    if topic.under_way is not None:
        return
    if not topic.is_going:
        if any(partition.under_way is not None for partition in topic.partitions.values()):
            return
        _begin(draft, topic)
    deleted = ReplicaState.DELETION_SUCCESSFUL
    if all(state is deleted for one in topic.partitions.values() for state in one.replicas.values()):
        draft.remove_topic(topic)


def _begin(draft: Draft, topic: Topic) -> None:
    topic.is_going = True
    topic.wanted.clear()
    draft.journal(TopicHappened(topic.name, "is being deleted"))
    refusal = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic.name!r} is being deleted")
    for waiter in (*topic.waiters, *topic.waiters_under_way):
        draft.fail(waiter, topic, refusal)
    supersede_move_requests(draft, [partition.name for partition in topic.partitions.values()])
    for partition in topic.partitions.values():
        partition.become(PartitionState.OFFLINE)
        partition.become(PartitionState.NON_EXISTENT)
        draft.outbox.tell(partition)
        for broker_id in partition.replicas:
            delete_replica(draft, partition, broker_id)


def delete_replica(draft: Draft, partition: Partition, broker_id: int) -> None:
    if partition.replicas[broker_id] is not ReplicaState.OFFLINE:
        partition.replica_becomes(broker_id, ReplicaState.OFFLINE)
    if draft.cluster.is_there(broker_id, partition.name):
        partition.replica_becomes(broker_id, ReplicaState.DELETION_STARTED)
        draft.outbox.stop(partition, broker_id, delete=True)
    else:
        partition.replica_becomes(broker_id, ReplicaState.DELETION_INELIGIBLE)


def replica_answered(draft: Draft, topic: Topic, partition: Partition, broker_id: int, error_code: ErrorCode) -> None:
    if not topic.is_going or partition.replicas.get(broker_id) is not ReplicaState.DELETION_STARTED:
        return
    if error_code is ErrorCode.NONE:
        partition.replica_becomes(broker_id, ReplicaState.DELETION_SUCCESSFUL)
    else:
        partition.replica_becomes(broker_id, ReplicaState.DELETION_INELIGIBLE)
        what = f"replica {broker_id} of partition {partition.name} is not deleted: {error_code.name}"
        draft.journal(TopicHappened(topic.name, what))
    draft.touch_topic(topic)


def replica_lost(partition: Partition, broker_id: int) -> None:
    """Of a topic that goes."""
    if partition.replicas[broker_id] is ReplicaState.DELETION_STARTED:
        partition.replica_becomes(broker_id, ReplicaState.DELETION_INELIGIBLE)


def replica_returned(draft: Draft, partition: Partition, broker_id: int) -> None:
    if partition.replicas[broker_id] is ReplicaState.DELETION_INELIGIBLE:
        delete_replica(draft, partition, broker_id)


def topic_removed(draft: Draft, change: RemoveTopic) -> None:
    topic = draft.cluster.topics.get(change.topic)
    if topic is not None and topic.under_way is change:
        draft.cluster.forget_topic(topic)
        draft.journal(TopicHappened(topic.name, "deleted"))


def removal_uncertain(draft: Draft, change: RemoveTopic) -> None:
    """It can be done again from any point."""
    topic = draft.cluster.topics.get(change.topic)
    if topic is not None and topic.under_way is change:
        topic.under_way = None
        topic.is_contested = True
        draft.touch_topic(topic)


def topic_gone(draft: Draft, topic: Topic | None) -> None:
    """Somebody has taken its znodes away."""
    if topic is None or isinstance(topic.under_way, RemoveTopic):
        return
    draft.cluster.forget_topic(topic)
    draft.journal(TopicHappened(topic.name, "is gone from the store"))
    refusal = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic.name!r} is gone")
    for waiter in topic.deletion_waiters:
        draft.refuse(waiter, refusal)
    at_partitions = (waiter for partition in topic.partitions.values() for waiter in partition.waiters)
    for waiter in dict.fromkeys((*topic.waiters, *topic.waiters_under_way, *at_partitions)):
        draft.fail(waiter, topic, refusal)
