"""A member of groups that speaks to a broker over a plain socket."""

from __future__ import annotations

from tests.broker.running_broker import BrokerPeer

from strandline.model.failures import ErrorCode
from strandline.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from strandline.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from strandline.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from strandline.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from strandline.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from strandline.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)
from strandline.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse

SESSION_MS = 10_000
GROUPS_FROM = 8  # in OffsetFetch


class GroupPeer(BrokerPeer):
    def find_coordinator(self, *groups: str) -> FindCoordinatorResponse:
        return self.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=list(groups)), 4, FindCoordinatorResponse)

    # Classic groups. `tell_` sends, for requests that wait for other members.

    def tell_join(
        self,
        group: str,
        member_id: str = "",
        *,
        version: int = 9,
        session_ms: int = SESSION_MS,
        instance_id: str | None = None,
        protocol_type: str = "consumer",
    ) -> None:
        protocols = [JoinGroupRequestProtocol("range", b"of " + member_id.encode())]
        request = JoinGroupRequest(group, session_ms, session_ms, member_id, instance_id, protocol_type, protocols)
        self.tell(request, version)

    def hear_joined(self, version: int = 9) -> JoinGroupResponse:
        return self.hear(version, JoinGroupResponse)

    def join(self, group: str, member_id: str = "", *, version: int = 9, **options: str | int) -> JoinGroupResponse:
        """With the id that the coordinator gives, if it gives one first."""
        self.tell_join(group, member_id, version=version, **options)  # type: ignore[arg-type]
        answer = self.hear_joined(version)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.tell_join(group, answer.member_id, version=version, **options)  # type: ignore[arg-type]
            answer = self.hear_joined(version)
        return answer

    def tell_sync(
        self, group: str, joined: JoinGroupResponse, assignments: dict[str, bytes] | None = None, version: int = 5
    ) -> None:
        handed_out = [SyncGroupRequestAssignment(*each) for each in (assignments or {}).items()]
        request = SyncGroupRequest(group, joined.generation_id, joined.member_id, assignments=handed_out)
        self.tell(request, version)

    def sync(
        self, group: str, joined: JoinGroupResponse, assignments: dict[str, bytes] | None = None, version: int = 5
    ) -> SyncGroupResponse:
        self.tell_sync(group, joined, assignments, version)
        return self.hear(version, SyncGroupResponse)

    def heartbeat(self, group: str, joined: JoinGroupResponse, version: int = 4) -> int:
        request = HeartbeatRequest(group, joined.generation_id, joined.member_id)
        return self.ask(request, version, HeartbeatResponse).error_code

    def leave(self, group: str, *member_ids: str, version: int = 5) -> LeaveGroupResponse:
        request = LeaveGroupRequest(group, member_ids[0], [MemberIdentity(member_id) for member_id in member_ids])
        return self.ask(request, version, LeaveGroupResponse)

    def stable_member(self, group: str, assignment: bytes = b"all", **options: str | int) -> JoinGroupResponse:
        """The only member of a group, with its assignment."""
        self.find_coordinator(group)
        joined = self.join(group, **options)  # type: ignore[arg-type]
        assert joined.error_code == 0
        synced = self.sync(group, joined, {joined.member_id: assignment})
        assert (synced.error_code, synced.assignment) == (0, assignment)
        return joined

    # Offsets.

    def commit(
        self,
        group: str,
        offsets: dict[int, int],
        *,
        topic: str = "orders",
        topic_id: bytes = bytes(16),
        member: JoinGroupResponse | None = None,
        metadata: str | None = "",
        version: int = 9,
    ) -> list[int]:
        """Error codes, by partition as asked for."""
        partitions = [OffsetCommitRequestPartition(index, offset, -1, metadata) for index, offset in offsets.items()]
        request = OffsetCommitRequest(group, topics=[OffsetCommitRequestTopic(topic, topic_id, partitions)])
        if member is not None:
            request.generation_id_or_member_epoch, request.member_id = member.generation_id, member.member_id
        answer = self.ask(request, version, OffsetCommitResponse)
        return [partition.error_code for topic in answer.topics for partition in topic.partitions]

    def committed(
        self, group: str, *indexes: int, topic: str = "orders", topic_id: bytes = bytes(16), version: int = 9
    ) -> list[OffsetFetchResponsePartitions] | list[OffsetFetchResponsePartition]:
        request = OffsetFetchRequest(group, [OffsetFetchRequestTopic(topic, list(indexes))])
        topics = [OffsetFetchRequestTopics(topic, topic_id, list(indexes))]
        request.groups.append(OffsetFetchRequestGroup(group, topics=topics))
        answer = self.ask(request, version, OffsetFetchResponse)
        if version < GROUPS_FROM:
            assert answer.error_code == 0
            return answer.topics[0].partitions
        assert answer.groups[0].error_code == 0
        return answer.groups[0].topics[0].partitions

    def offset(self, group: str, index: int = 0, topic: str = "orders") -> int:
        return self.committed(group, index, topic=topic)[0].committed_offset

    # Looking at groups.

    def list_groups(self, *states: str, types: tuple[str, ...] = ()) -> list[ListedGroup]:
        answer = self.ask(ListGroupsRequest(list(states), list(types)), 5, ListGroupsResponse)
        assert answer.error_code == 0
        return sorted(answer.groups, key=lambda group: group.group_id)


def errors_of(left: LeaveGroupResponse) -> list[int]:
    members: list[MemberResponse] = left.members
    return [member.error_code for member in members]
