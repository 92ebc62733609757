"""The target assignment of a consumer group: what each member is to have."""

from __future__ import annotations

from strandline.groups.assignors import Assignee, assignor
from strandline.groups.consumer_changes import ConsumerGroupChanges
from strandline.groups.consumer_group import ConsumerGroup
from strandline.groups.settings import GroupSettings


def compute_target(settings: GroupSettings, changes: ConsumerGroupChanges) -> None:
    """If there is none yet for the group's epoch. Only what changes is stored."""
    group = changes.group
    if group.epoch <= group.assignment_epoch:
        return
    assign = assignor(group.preferred_assignor(settings.group_consumer_assignors[0]))
    partition_counts = {topic.topic_id: topic.num_partitions for topic in group.topics}
    target = assign(_assignees(group), partition_counts)
    for member_id, assignment in target.items():
        if member_id not in group.target or group.target[member_id] != assignment:
            changes.store_target(member_id, assignment)
    changes.store_assignment_epoch(group.epoch)


def _assignees(group: ConsumerGroup) -> dict[str, Assignee]:
    topic_ids = {topic.topic_name: topic.topic_id for topic in group.topics}
    return {
        member_id: Assignee(
            topics=frozenset(topic_ids[name] for name in member.subscribed_topic_names if name in topic_ids),
            instance_id=member.instance_id,
            assigned=group.target_of(member_id),
        )
        for member_id, member in group.members.items()
    }
