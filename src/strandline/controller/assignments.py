"""`/brokers/topics/<topic>`: who shall have the replicas. One write at a time, and whatever is wanted meanwhile waits
for the next, so that a topic with many partitions that move is not written once for each.
"""

from __future__ import annotations

from strandline.controller.changes import RemoveTopic, SetTopic
from strandline.controller.cluster import Reading, Topic
from strandline.controller.draft import Draft
from strandline.controller.journal import TopicHappened
from strandline.controller.values import ReplicaAssignment, TopicAssignment, counted
from strandline.controller.waiting import TopicWaiter
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition


def write_wanted_assignments(draft: Draft, topic: Topic) -> None:
    if topic.under_way is not None or not topic.wanted:
        return
    assignments = {index: partition.assignment for index, partition in topic.partitions.items()}
    assignments |= {index: wanted.assignment for index, wanted in topic.wanted.items()}
    entries = tuple(wanted.entry for wanted in topic.wanted.values())
    change = SetTopic(topic.name, TopicAssignment(topic.topic_id, assignments), topic.version, entries)
    topic.under_way = change
    topic.waiters_under_way += topic.waiters
    topic.waiters = []
    draft.write(change)


def assignment_committed(draft: Draft, change: SetTopic) -> None:
    topic = draft.cluster.topics.get(change.topic)
    if topic is None or change_under_way(topic) is not change:
        return
    topic.under_way = None
    topic.version = change.expected_version + 1
    for entry in change.entries:
        draft.journal(entry)
    for index, assignment in change.assignment.partitions.items():
        wanted = topic.wanted.get(index)
        if wanted is not None and wanted.assignment != assignment:
            continue  # something else is wanted by now, and written next
        topic.wanted.pop(index, None)
        assign(draft, topic, index, assignment)
    release_waiters(draft, topic)
    draft.touch_topic(topic)


def assignment_uncertain(draft: Draft, change: SetTopic) -> None:
    topic = draft.cluster.topics.get(change.topic)
    if topic is not None and topic.under_way is change:
        topic.under_way = Reading(change)
        draft.read_topic(topic.name)


def assignment_impossible(draft: Draft, change: SetTopic) -> None:
    """It does not fit into a znode. What made it larger is dropped; a move that is complete makes it smaller."""
    topic = draft.cluster.topics.get(change.topic)
    if topic is None or topic.under_way is not change:
        return
    topic.under_way = None
    for index, wanted in list(topic.wanted.items()):
        if index not in topic.partitions or wanted.assignment.is_moving:
            del topic.wanted[index]
            if index in topic.partitions:
                draft.touch(topic.partitions[index])
    refusal = Refused(ErrorCode.INVALID_PARTITIONS, f"topic {topic.name!r} would not fit into its znode")
    waiters, topic.waiters_under_way = topic.waiters_under_way, []
    for waiter in waiters:
        draft.fail(waiter, topic, refusal)
    draft.touch_topic(topic)


def change_under_way(topic: Topic) -> SetTopic | None:
    change = topic.under_way.after if isinstance(topic.under_way, Reading) else topic.under_way
    return change if isinstance(change, SetTopic) else None


def assign(draft: Draft, topic: Topic, index: int, assignment: ReplicaAssignment) -> None:
    partition = topic.partitions.get(index)
    if partition is None:
        partition = draft.cluster.new_partition(TopicPartition(topic.name, index), assignment)
        topic.partitions[index] = partition
        draft.cluster.index(partition)
        draft.touch(partition)
    elif partition.assignment != assignment:
        draft.cluster.assign(partition, assignment)
        draft.touch(partition)


def release_waiters(draft: Draft, topic: Topic) -> None:
    """What they asked for is in the store. Who wants to use new partitions waits on until these have leaders."""
    waiters, topic.waiters_under_way = topic.waiters_under_way, []
    for waiter in waiters:
        for name in sorted(waiter.open):
            partition = topic.partitions.get(name.partition) if name.topic == topic.name else None
            if partition is None:
                continue
            if isinstance(waiter, TopicWaiter):
                partition.waiters.append(waiter)
                draft.touch(partition)
            else:
                draft.settled(waiter, partition)


def adopt_topic(draft: Draft, name: str, assignment: TopicAssignment, version: int) -> None:
    """A topic that somebody else has made, as tools do that write to the store themselves."""
    topic = draft.cluster.new_topic(name, assignment, version)
    draft.cluster.add_topic(topic)
    draft.journal(TopicHappened(name, f"seen with {counted(len(topic.partitions), 'partition')}"))
    for partition in topic.partitions.values():
        draft.touch(partition)


def known_topic_seen(draft: Draft, topic: Topic, assignment: TopicAssignment, version: int) -> None:
    for partition in topic.partitions.values():
        if partition.leadership is None:
            draft.touch(partition)
    if isinstance(topic.under_way, SetTopic | RemoveTopic):
        return  # the answer to our own write is on its way
    change = change_under_way(topic)
    if topic.shall_go:
        topic.under_way = None
        draft.touch_topic(topic)
        return  # nothing is added to what goes
    if change is not None and assignment == change.assignment:
        assignment_committed(draft, change)  # only the answer was lost
    topic.under_way = None
    topic.version = version
    for index in sorted(assignment.partitions):
        if index not in topic.partitions:
            topic.wanted.pop(index, None)
            draft.journal(TopicHappened(topic.name, f"partition {index} was added on {assignment.partitions[index]}"))
            assign(draft, topic, index, assignment.partitions[index])
    if not topic.wanted:  # others have done all of it
        topic.waiters_under_way += topic.waiters
        topic.waiters = []
        release_waiters(draft, topic)
    draft.touch_topic(topic)
