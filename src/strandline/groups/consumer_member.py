"""A member of a consumer group (KIP-848), as its two records tell it."""

from __future__ import annotations

from dataclasses import field, replace

from strandline.groups.assignment import NOTHING, Assignment, from_stored, to_stored
from strandline.groups.commands import LEAVE_EPOCH, ConsumerGroupHeartbeat
from strandline.groups.records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
)
from strandline.groups.states import MemberState
from strandline.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()  # sorted
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    epoch: int = 0  # that the member's next heartbeat must say
    previous_epoch: int = -1  # that it may say, if our last reply was lost
    state: MemberState = MemberState.STABLE
    assigned: Assignment = field(default_factory=dict)  # what it may use
    pending_revocation: Assignment = field(default_factory=dict)  # what it must give up, and still owns

    def with_metadata(self, value: ConsumerGroupMemberMetadataValue) -> ConsumerMember:
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=value.subscribed_topic_names,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )

    def with_request(self, command: ConsumerGroupHeartbeat) -> ConsumerMember:
        """What a heartbeat leaves out is as it was."""
        names = command.subscribed_topic_names
        timeout_ms = command.rebalance_timeout_ms
        return replace(
            self,
            instance_id=self.instance_id if command.instance_id is None else command.instance_id,
            rack_id=self.rack_id if command.rack_id is None else command.rack_id,
            client_id=command.client_id,
            client_host=command.client_host,
            subscribed_topic_names=self.subscribed_topic_names if names is None else tuple(sorted(set(names))),
            rebalance_timeout_ms=self.rebalance_timeout_ms if timeout_ms < 0 else timeout_ms,
            server_assignor=self.server_assignor if command.server_assignor is None else command.server_assignor,
            classic=None,
        )

    def metadata(self) -> ConsumerGroupMemberMetadataValue:
        return ConsumerGroupMemberMetadataValue(
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            subscribed_topic_names=self.subscribed_topic_names,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            server_assignor=self.server_assignor,
            classic_member_metadata=self.classic,
        )

    def with_assignment(self, value: ConsumerGroupCurrentMemberAssignmentValue | None) -> ConsumerMember:
        if value is None:
            return replace(
                self, epoch=LEAVE_EPOCH, previous_epoch=LEAVE_EPOCH, assigned=NOTHING, pending_revocation=NOTHING
            )
        return replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState.of(value.state),
            assigned=from_stored(value.assigned_partitions),
            pending_revocation=from_stored(value.partitions_pending_revocation),
        )

    def assignment(self) -> ConsumerGroupCurrentMemberAssignmentValue:
        return ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=self.epoch,
            previous_member_epoch=self.previous_epoch,
            state=self.state,
            assigned_partitions=to_stored(self.assigned),
            partitions_pending_revocation=to_stored(self.pending_revocation),
        )

    def at_epoch(self, epoch: int) -> ConsumerMember:
        return self if epoch == self.epoch else replace(self, epoch=epoch, previous_epoch=self.epoch)

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch
