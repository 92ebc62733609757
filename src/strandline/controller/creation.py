"""Topics come and grow (SPEC T1, T3).

A topic and the first leaders of its partitions are written together, so that it is there as a whole or not at all;
the leaders of a topic with very many partitions follow. Growing a topic is one write of its assignment, and the
leaders follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from strandline.controller.assignments import adopt_topic, known_topic_seen
from strandline.controller.changes import CreateLeadership, CreateTopic
from strandline.controller.cluster import Cluster, Creation, Topic, WantedAssignment, collision_key
from strandline.controller.deletion import topic_gone
from strandline.controller.draft import CHANGES_PER_WRITE_MAX, Draft
from strandline.controller.effects import Write
from strandline.controller.events import TopicSeen
from strandline.controller.journal import AssignmentChanged, TopicHappened
from strandline.controller.placement import Place, Placement, place_added_partitions, place_replicas
from strandline.controller.replies import TopicReply
from strandline.controller.requests import AddPartitionsRequest, CreateTopicRequest
from strandline.controller.rules import first_leadership
from strandline.controller.settling import leadership_committed
from strandline.controller.values import ReplicaAssignment, TopicAssignment, counted, ids_text
from strandline.controller.waiting import TopicWaiter
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition, check_topic_name

UNCLEAN_PROPERTY = "unclean.leader.election.enable"


def create_topic(draft: Draft, request: CreateTopicRequest) -> None:
    try:
        check_new_name(draft.cluster, request.topic)
        placement = placement_of(draft.cluster, request)
    except Refused as refusal:
        draft.reply(TopicReply(request.request, request.topic, refusal.error_code, refusal.reason))
        return
    if request.validate_only:
        draft.reply(TopicReply(request.request, request.topic, assignment=placement))
        return
    assignment = TopicAssignment(request.topic_id, {index: ReplicaAssignment(placement[index]) for index in placement})
    change = CreateTopic(request.topic, assignment, request.properties)
    waiter = TopicWaiter(request.request, request.topic, placement)
    draft.wait(waiter)
    draft.cluster.colliding_names[collision_key(request.topic)] = request.topic
    creation = Creation(change, waiter, draft.cluster.new_topic(request.topic, assignment))
    draft.cluster.creating[request.topic] = creation
    write_creation(draft, creation)


def check_new_name(cluster: Cluster, topic: str) -> None:
    check_topic_name(topic)
    if topic in cluster.topics or topic in cluster.creating:
        goes = topic in cluster.topics and cluster.topics[topic].shall_go
        why = f"topic {topic!r} is being deleted" if goes else f"topic {topic!r} exists already"
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, why)
    other = cluster.colliding_names.get(collision_key(topic))
    if other is not None:
        raise Refused(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"topic {topic!r} collides with {other!r}: metrics do not tell '.' and '_' apart",
        )


def places(cluster: Cluster) -> list[Place]:
    """Brokers that may have new replicas: those about to go may not."""
    staying = (broker_id for broker_id in sorted(cluster.brokers) if broker_id not in cluster.shutting_down)
    return [Place(broker_id, cluster.brokers[broker_id].rack) for broker_id in staying]


def placement_of(cluster: Cluster, request: CreateTopicRequest) -> Mapping[int, tuple[int, ...]]:
    if request.placement is None:
        return place_replicas(
            places(cluster),
            request.partition_count,
            request.replication_factor,
            start_index=request.start_index,
            shift=request.shift,
        )
    placement = request.placement
    if sorted(placement) != list(range(len(placement))) or not placement:
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions must be numbered from 0 without a gap")
    check_replicas(cluster, placement.values(), len(placement[0]))
    return placement


def check_replicas(cluster: Cluster, lists: Iterable[tuple[int, ...]], replication_factor: int) -> None:
    for replicas in lists:
        if not replicas or len(replicas) != replication_factor:
            count = counted(len(replicas), "replica")
            why = f"{ids_text(replicas)} has {count}, where the topic has {replication_factor}"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
        if len(set(replicas)) < len(replicas):
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{ids_text(replicas)} names a broker twice")
        unknown = [broker_id for broker_id in replicas if broker_id not in cluster.brokers]
        if unknown:
            why = f"brokers {ids_text(unknown)} of {ids_text(replicas)} are not there"
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)


def write_creation(draft: Draft, creation: Creation) -> None:
    """With whoever can lead now: brokers may have come and gone since it was last tried."""
    change = creation.change
    leaderships: list[CreateLeadership] = []
    creation.topic = topic = draft.cluster.new_topic(change.topic, change.assignment)
    for partition in topic.partitions.values():
        partition.waiters.append(creation.waiter)
        decision = first_leadership(draft.cluster.situation(partition))
        if decision is not None and len(leaderships) < CHANGES_PER_WRITE_MAX:
            leadership = CreateLeadership(partition.name, decision.leadership, decision.entry)
            partition.under_way = leadership
            leaderships.append(leadership)
    draft.write(change, *leaderships)


def topic_created(draft: Draft, write: Write, creation: Creation) -> None:
    topic = _begin_life(draft, creation)
    for change in write.changes:
        if isinstance(change, CreateLeadership):
            leadership_committed(draft, change.partition, change)
    for partition in topic.partitions.values():
        draft.touch(partition)


def _begin_life(draft: Draft, creation: Creation) -> Topic:
    change, topic, cluster = creation.change, creation.topic, draft.cluster
    del cluster.creating[change.topic]
    cluster.add_topic(topic)
    if UNCLEAN_PROPERTY in change.properties:
        cluster.unclean_topics[topic.name] = change.properties[UNCLEAN_PROPERTY].lower() == "true"
    draft.journal(TopicHappened(topic.name, f"created with {counted(len(topic.partitions), 'partition')}"))
    return topic


def creation_uncertain(draft: Draft, creation: Creation) -> None:
    """Somebody else has made such a topic, or we have and do not know: its id will tell."""
    creation.is_being_read = True
    draft.read_topic(creation.change.topic)


def creation_failed(draft: Draft, creation: Creation, refusal: Refused) -> None:
    name = creation.change.topic
    del draft.cluster.creating[name]
    if name not in draft.cluster.topics:
        draft.cluster.colliding_names.pop(collision_key(name), None)
    draft.refuse(creation.waiter, refusal)


def topic_seen(draft: Draft, event: TopicSeen) -> None:
    creation = draft.cluster.creating.get(event.topic)
    if creation is not None:
        _topic_in_creation_seen(draft, creation, event)
        return
    topic = draft.cluster.topics.get(event.topic)
    if event.assignment is None:
        topic_gone(draft, topic)
    elif topic is not None and topic.topic_id == event.assignment.topic_id:
        known_topic_seen(draft, topic, event.assignment, event.version)
    else:
        topic_gone(draft, topic)  # another of the same name, if there was one
        adopt_topic(draft, event.topic, event.assignment, event.version)


def _topic_in_creation_seen(draft: Draft, creation: Creation, event: TopicSeen) -> None:
    assignment = event.assignment
    if assignment is not None and assignment.topic_id != creation.change.assignment.topic_id:
        why = f"topic {event.topic!r} exists already"
        creation_failed(draft, creation, Refused(ErrorCode.TOPIC_ALREADY_EXISTS, why))
        adopt_topic(draft, event.topic, assignment, event.version)
    elif creation.is_being_read:
        creation.is_being_read = False
        if assignment is None:
            write_creation(draft, creation)
            return
        topic = _begin_life(draft, creation)
        topic.version = event.version
        for partition in topic.partitions.values():
            if isinstance(partition.under_way, CreateLeadership):
                draft.read(partition, partition.under_way)
            else:
                draft.touch(partition)


def add_partitions(draft: Draft, request: AddPartitionsRequest) -> None:
    try:
        topic = topic_to_grow(draft.cluster, request)
        placement = placement_of_added(draft.cluster, topic, request)
    except Refused as refusal:
        draft.reply(TopicReply(request.request, request.topic, refusal.error_code, refusal.reason))
        return
    if request.validate_only:
        draft.reply(TopicReply(request.request, request.topic, assignment=placement))
        return
    waiter = TopicWaiter(request.request, request.topic, placement)
    draft.wait(waiter)
    topic.waiters.append(waiter)
    for index, replicas in placement.items():
        assignment = ReplicaAssignment(replicas)
        entry = AssignmentChanged(TopicPartition(topic.name, index), "added", None, assignment)
        topic.wanted[index] = WantedAssignment(assignment, entry)
    draft.touch_topic(topic)


def topic_to_grow(cluster: Cluster, request: AddPartitionsRequest) -> Topic:
    topic = cluster.topics.get(request.topic)
    if topic is None or topic.shall_go:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {request.topic[:80]!r}")
    planned = [topic.planned(index) for index in range(topic.planned_count)]
    if not planned or None in planned:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"the partitions of topic {topic.name!r} are not numbered from 0")
    if any(assignment is not None and assignment.is_moving for assignment in planned):
        raise Refused(ErrorCode.REASSIGNMENT_IN_PROGRESS, f"partitions of topic {topic.name!r} are being moved")
    if request.partition_count <= topic.planned_count:
        why = f"topic {topic.name!r} has {topic.planned_count} partitions: {request.partition_count} is not more"
        raise Refused(ErrorCode.INVALID_PARTITIONS, why)
    return topic


def placement_of_added(cluster: Cluster, topic: Topic, request: AddPartitionsRequest) -> Placement:
    existing = {
        index: assignment.replicas
        for index in range(topic.planned_count)
        if (assignment := topic.planned(index)) is not None
    }
    if request.placement is None:
        return place_added_partitions(places(cluster), existing, request.partition_count)
    added = request.partition_count - len(existing)
    if len(request.placement) != added:
        why = f"{added} partitions are to be added, and {len(request.placement)} lists of brokers were given"
        raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    check_replicas(cluster, request.placement, len(existing[0]))
    return dict(enumerate(request.placement, len(existing)))
