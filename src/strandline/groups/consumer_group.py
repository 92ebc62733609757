"""A consumer group (KIP-848): all of it is stored, each part in a record of its own.

    group epoch          goes up when a member comes, goes or subscribes anew, or its topics change
    target assignment    what each member is to have, computed for one group epoch: the assignment epoch
    member               its subscription, and its own progress to the target: `consumer_member`

Every change comes through `apply`. A handler that has several changes to make applies its records to a copy, and sees
the group as it will be.
"""

from __future__ import annotations

from collections import Counter
from typing import Self

from strandline.groups.assignment import NOTHING, Assignment, IdPartition, from_stored, partitions_of
from strandline.groups.consumer_member import ConsumerMember
from strandline.groups.records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupRecord,
    TopicMetadata,
)
from strandline.groups.states import ConsumerGroupState
from strandline.model.failures import ErrorCode, Refused

NO_EPOCH = -1


class ConsumerGroup:
    __slots__ = (
        "assignment_epoch",
        "empty_since_ms",
        "epoch",
        "group_id",
        "members",
        "owners",
        "static_members",
        "target",
        "topics",
        "topics_version",
    )

    has_pending_members = False

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.assignment_epoch = 0
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}  # instance id to member id
        self.target: dict[str, Assignment] = {}  # by member
        self.topics: tuple[TopicMetadata, ...] = ()  # those subscribed to, by name, as the last target saw them
        # Who has each partition, or has not given it up yet. Nobody else is given it.
        self.owners: dict[IdPartition, str] = {}
        # Not stored: the version of the cluster's topics when they were last compared, and since when, as far as this
        # coordinator knows, there has been no member.
        self.topics_version = NO_EPOCH
        self.empty_since_ms: int | None = None

    def copy(self) -> Self:
        twin = type(self)(self.group_id)
        twin.epoch, twin.assignment_epoch = self.epoch, self.assignment_epoch
        twin.members, twin.static_members = dict(self.members), dict(self.static_members)
        twin.target, twin.owners = dict(self.target), dict(self.owners)
        twin.topics, twin.topics_version = self.topics, self.topics_version
        twin.empty_since_ms = self.empty_since_ms
        return twin

    def apply(self, record: GroupRecord) -> None:
        match record.key, record.value:
            case ConsumerGroupMetadataKey(), ConsumerGroupMetadataValue(epoch=epoch):
                self.epoch = epoch
            case ConsumerGroupPartitionMetadataKey(), ConsumerGroupPartitionMetadataValue(topics=topics):
                self.topics = topics
            case ConsumerGroupPartitionMetadataKey(), None:
                self.topics = ()
            case ConsumerGroupMemberMetadataKey(member_id=member_id), ConsumerGroupMemberMetadataValue() as metadata:
                self._put(self._known(member_id).with_metadata(metadata))
            case ConsumerGroupMemberMetadataKey(member_id=member_id), None:
                self._remove(member_id)
            case ConsumerGroupTargetAssignmentMetadataKey(), ConsumerGroupTargetAssignmentMetadataValue() as stored:
                self.assignment_epoch = stored.assignment_epoch
            case ConsumerGroupTargetAssignmentMetadataKey(), None:
                self.assignment_epoch = NO_EPOCH
            case (
                ConsumerGroupTargetAssignmentMemberKey(member_id=member_id),
                ConsumerGroupTargetAssignmentMemberValue(topic_partitions=partitions),
            ):
                self.target[member_id] = from_stored(partitions)
            case ConsumerGroupTargetAssignmentMemberKey(member_id=member_id), None:
                self.target.pop(member_id, None)
            case (
                ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id),
                ConsumerGroupCurrentMemberAssignmentValue() as current,
            ):
                self._put(self._known(member_id).with_assignment(current))
            case ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id), None if member_id in self.members:
                self._put(self.members[member_id].with_assignment(None))

    def _known(self, member_id: str) -> ConsumerMember:
        """In a compacted log a member's two records may come in either order."""
        return self.members.get(member_id) or ConsumerMember(member_id=member_id)

    def _put(self, member: ConsumerMember) -> None:
        self._disown(member.member_id)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for partition in partitions_of(member.assigned) | partitions_of(member.pending_revocation):
            self.owners[partition] = member.member_id

    def _remove(self, member_id: str) -> None:
        self._disown(member_id)
        member = self.members.pop(member_id, None)
        if member is not None and self.static_members.get(member.instance_id or "") == member_id:
            del self.static_members[member.instance_id or ""]

    def _disown(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is not None:
            for partition in partitions_of(member.assigned) | partitions_of(member.pending_revocation):
                if self.owners.get(partition) == member_id:
                    del self.owners[partition]

    def tombstones(self) -> list[GroupRecord]:
        """Of a group without members."""
        return [
            GroupRecord(ConsumerGroupTargetAssignmentMetadataKey(self.group_id), None),
            GroupRecord(ConsumerGroupPartitionMetadataKey(self.group_id), None),
            GroupRecord(ConsumerGroupMetadataKey(self.group_id), None),
        ]

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def subscribed_topic_names(self) -> list[str]:
        return sorted({name for member in self.members.values() for name in member.subscribed_topic_names})

    def target_of(self, member_id: str) -> Assignment:
        return self.target.get(member_id, NOTHING)

    def preferred_assignor(self, default: str) -> str:
        """The one that most members name; of equals, the first by name."""
        votes = Counter(member.server_assignor for member in self.members.values() if member.server_assignor)
        return min(votes, key=lambda name: (-votes[name], name), default=default)

    # What requests must pass

    def check_member(self, member_id: str) -> ConsumerMember:
        if member_id not in self.members:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id!r} is not a member")
        return self.members[member_id]

    def check_static_member(self, member_id: str, instance_id: str) -> ConsumerMember:
        current_id = self.static_members.get(instance_id)
        if current_id is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"no member is {instance_id}")
        if current_id != member_id:
            raise Refused(ErrorCode.FENCED_INSTANCE_ID, f"{instance_id} is now {current_id}")
        return self.members[current_id]

    def check_commit(self, member_id: str, epoch: int, *, is_transactional: bool, knows_epochs: bool) -> None:
        if epoch < 0 and not self.members:
            return  # an administrator
        member = self.check_member(member_id)
        if not is_transactional and not knows_epochs:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION, "a member of a consumer group commits with version 9 or later")
        if epoch != member.epoch:
            # A transactional producer knows no epochs, only generations.
            error_code = ErrorCode.ILLEGAL_GENERATION if is_transactional else ErrorCode.STALE_MEMBER_EPOCH
            raise Refused(error_code, f"epoch {epoch} is not {member.epoch}")

    def check_fetch(self, member_id: str | None, epoch: int) -> None:
        if member_id is None and epoch < 0:
            return
        if epoch != self.check_member(member_id or "").epoch:
            raise Refused(ErrorCode.STALE_MEMBER_EPOCH, f"{epoch} is not the epoch of {member_id!r}")

    def check_offset_delete(self) -> None:
        """A group of consumers always says what it reads."""

    def check_deletion(self) -> None:
        if self.members:
            raise Refused(ErrorCode.NON_EMPTY_GROUP, f"the group has {len(self.members)} members")

    # Offsets

    def is_subscribed_to(self, topic: str) -> bool:
        return any(topic in member.subscribed_topic_names for member in self.members.values())

    def retention_start_ms(self, commit_timestamp_ms: int) -> int:
        """Kafka counts from the commit alone, and can drop the offsets of a quiet topic while its reader restarts."""
        if self.members or self.empty_since_ms is None:
            return commit_timestamp_ms
        return max(commit_timestamp_ms, self.empty_since_ms)
