"""Changes to a consumer group in the making: each is a record of the decision, and shows in `group` at once.

`group` is the coordinator's own until the first change and then a copy, so a decision whose records are never appended
has changed nothing.
"""

from __future__ import annotations

from strandline.groups.assignment import Assignment, to_stored
from strandline.groups.consumer_group import ConsumerGroup
from strandline.groups.consumer_member import ConsumerMember
from strandline.groups.draft import CoordinatorState, Draft
from strandline.groups.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupRecord,
    Key,
    TopicMetadata,
    Value,
)


class ConsumerGroupChanges:
    __slots__ = ("_draft", "_is_copy", "group")

    def __init__(self, group: ConsumerGroup, draft: Draft) -> None:
        self.group = group
        self._draft = draft
        self._is_copy = False

    def _write(self, key: Key, value: Value | None) -> None:
        if not self._is_copy:
            self.group = self.group.copy()
            self._is_copy = True
        record = GroupRecord(key, value)
        self._draft.append(record)
        self.group.apply(record)

    def store_member(self, member: ConsumerMember) -> None:
        self._write(ConsumerGroupMemberMetadataKey(self.group.group_id, member.member_id), member.metadata())

    def store_assignment(self, member: ConsumerMember) -> None:
        self._write(ConsumerGroupCurrentMemberAssignmentKey(self.group.group_id, member.member_id), member.assignment())

    def store_target(self, member_id: str, target: Assignment) -> None:
        value = ConsumerGroupTargetAssignmentMemberValue(topic_partitions=to_stored(target))
        self._write(ConsumerGroupTargetAssignmentMemberKey(self.group.group_id, member_id), value)

    def store_assignment_epoch(self, epoch: int) -> None:
        value = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
        self._write(ConsumerGroupTargetAssignmentMetadataKey(self.group.group_id), value)

    def remove_member(self, member_id: str) -> None:
        """The order matters to Kafka when it loads these: first what the member has, then the member."""
        self._write(ConsumerGroupCurrentMemberAssignmentKey(self.group.group_id, member_id), None)
        self._write(ConsumerGroupTargetAssignmentMemberKey(self.group.group_id, member_id), None)
        self._write(ConsumerGroupMemberMetadataKey(self.group.group_id, member_id), None)

    def replace_member(self, member: ConsumerMember, successor: ConsumerMember) -> None:
        target = self.group.target_of(member.member_id)
        self.remove_member(member.member_id)
        self.store_member(successor)
        self.store_target(successor.member_id, target)
        self.store_assignment(successor)

    def raise_epoch(self, state: CoordinatorState, *, subscriptions_changed: bool) -> None:
        """If the subscriptions changed, or the topics behind them did."""
        topics_changed = False
        if subscriptions_changed or self.group.topics_version != state.topics_version:
            topics_changed = self._store_topics(state)
        if subscriptions_changed or topics_changed:
            value = ConsumerGroupMetadataValue(epoch=self.group.epoch + 1)
            self._write(ConsumerGroupMetadataKey(self.group.group_id), value)

    def _store_topics(self, state: CoordinatorState) -> bool:
        topics = tuple(
            TopicMetadata(
                topic_id=state.topics[name].topic_id, topic_name=name, num_partitions=state.topics[name].partitions
            )
            for name in self.group.subscribed_topic_names
            if name in state.topics
        )
        if topics == self.group.topics:
            self.group.topics_version = state.topics_version
            return False
        value = ConsumerGroupPartitionMetadataValue(topics=topics)
        self._write(ConsumerGroupPartitionMetadataKey(self.group.group_id), value)
        return True
