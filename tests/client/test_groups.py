"""Membership in a group, against a coordinator that follows a script; and what a group's members tell each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.scripted_broker import Answer, ScriptedBroker, in_turn, names_of

from strandline.client.cluster import Cluster
from strandline.client.consumer_protocol import (
    assign_range,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from strandline.client.failures import BrokerRefused, ClientError
from strandline.client.group_consumer import GroupConsumer
from strandline.client.group_member import GroupMember
from strandline.client.group_offsets import Committed, commit_offsets, committed_offsets, delete_offsets
from strandline.client.groups import delete_group, describe_group, list_groups
from strandline.model.error_codes import ErrorCode
from strandline.model.failures import ProtocolError
from strandline.model.partitions import TopicPartition
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.wire.messages import consumer_group_describe as modern
from strandline.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from strandline.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from strandline.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from strandline.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from strandline.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from strandline.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from strandline.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from strandline.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from strandline.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from strandline.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from strandline.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from strandline.wire.versions import ApiKey

ORDERS = [TopicPartition("orders", index) for index in range(3)]


class ScriptedCoordinator(ScriptedBroker):
    """One member is alone in its group and leads it; offsets are kept. Tests replace what they are about."""

    def __init__(self, **others: Any) -> None:
        super().__init__(**others)
        self.leaders = {"orders": [1, 1, 1]}
        self.generation = 0
        self.committed: dict[TopicPartition, int] = {}
        self.log: dict[int, bytes] = {}
        place = Coordinator("g", 1)
        self.answers |= {
            FindCoordinatorRequest: lambda _: FindCoordinatorResponse(
                node_id=1, host="127.0.0.1", port=self.port, coordinators=[place]
            ),
            JoinGroupRequest: self.join,
            SyncGroupRequest: self.sync,
            HeartbeatRequest: lambda _: HeartbeatResponse(),
            LeaveGroupRequest: lambda _: LeaveGroupResponse(),
            OffsetFetchRequest: self.offsets,
            OffsetCommitRequest: self.commit,
            FetchRequest: self.fetch,
        }

    def join(self, request: JoinGroupRequest) -> Answer:
        if not request.member_id:
            return JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="member-1")
        self.generation += 1
        members = [JoinGroupResponseMember(request.member_id, None, request.protocols[0].metadata)]
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_name="range",
            leader=request.member_id,
            member_id=request.member_id,
            members=members,
        )

    def sync(self, request: SyncGroupRequest) -> Answer:
        own = next((each.assignment for each in request.assignments if each.member_id == request.member_id), b"")
        return SyncGroupResponse(assignment=own)

    def offsets(self, request: OffsetFetchRequest) -> Answer:
        rows = [(each.topic, each.partition, at) for each, at in sorted(self.committed.items())]
        old = [OffsetFetchResponseTopic(topic, [OffsetFetchResponsePartition(index, at)]) for topic, index, at in rows]
        new = [
            OffsetFetchResponseTopics(topic, partitions=[OffsetFetchResponsePartitions(index, at)])
            for topic, index, at in rows
        ]
        groups = [OffsetFetchResponseGroup(group.group_id, new) for group in request.groups]
        return OffsetFetchResponse(topics=old, groups=groups)

    def commit(self, request: OffsetCommitRequest) -> OffsetCommitResponse:
        response = OffsetCommitResponse()
        for topic in request.topics:
            answer = OffsetCommitResponseTopic(topic.name)
            response.topics.append(answer)
            for each in topic.partitions:
                self.committed[TopicPartition(topic.name, each.partition_index)] = each.committed_offset
                answer.partitions.append(OffsetCommitResponsePartition(each.partition_index))
        return response

    def fetch(self, request: FetchRequest) -> Answer:
        response = FetchResponse()
        for topic in request.topics:
            answer = FetchableTopicResponse(topic.topic, topic.topic_id)
            response.responses.append(answer)
            for each in topic.partitions:
                records = self.log.get(each.partition, b"") if each.fetch_offset == 0 else b""
                answer.partitions.append(PartitionData(each.partition, 0, 10, 10, records=records))
        return response


def play(scene: Callable[[ScriptedCoordinator], Coroutine[Any, Any, None]], **others: Any) -> ScriptedCoordinator:
    async def run() -> ScriptedCoordinator:
        async with ScriptedCoordinator(**others) as coordinator:
            await scene(coordinator)
        return coordinator

    return asyncio.run(run())


def batch(*values: bytes) -> bytes:
    return bytes(build_batch([Record(number, 0, None, value) for number, value in enumerate(values)]))


def refused(code: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[OffsetCommitResponseTopic("orders", partitions=[OffsetCommitResponsePartition(0, code)])]
    )


def test_a_member_joins_leads_and_leaves() -> None:
    """KIP-394: the first answer is an id to join with."""

    async def scene(coordinator: ScriptedCoordinator) -> None:
        async with Cluster(coordinator.settings()) as cluster:
            member = GroupMember(cluster, "g", ["orders"])
            assert await member.join() == ORDERS
            assert member.membership == (1, "member-1", None)
            await member.leave()

    coordinator = play(scene)
    spoken = [name for name in names_of(coordinator.requests) if name.endswith("Group")]
    assert spoken == ["JoinGroup", "JoinGroup", "SyncGroup", "LeaveGroup"]
    (left,) = coordinator.received(LeaveGroupRequest)
    assert [each.member_id for each in left.members] == ["member-1"]


def test_a_member_that_does_not_lead_takes_what_it_is_given() -> None:
    async def scene(coordinator: ScriptedCoordinator) -> None:
        joined = JoinGroupResponse(generation_id=4, protocol_name="range", leader="other", member_id="me")
        coordinator.answers[JoinGroupRequest] = lambda _: joined
        coordinator.answers[SyncGroupRequest] = lambda _: SyncGroupResponse(assignment=encode_assignment(ORDERS[1:2]))
        async with Cluster(coordinator.settings()) as cluster:
            member = GroupMember(cluster, "g", ["orders"])
            assert await member.join() == ORDERS[1:2]
            await member.leave()

    (sync,) = play(scene).received(SyncGroupRequest)
    assert (sync.generation_id, sync.assignments) == (4, [])


@pytest.mark.parametrize(
    "error", [ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION]
)
def test_a_heartbeat_may_say_to_join_anew(error: ErrorCode) -> None:
    async def scene(coordinator: ScriptedCoordinator) -> None:
        coordinator.answers[HeartbeatRequest] = in_turn(HeartbeatResponse(), HeartbeatResponse(error_code=error))
        async with Cluster(coordinator.settings(heartbeat_interval_ms=5)) as cluster:
            member = GroupMember(cluster, "g", ["orders"])
            await member.join()
            await asyncio.wait_for(member.change(), 10)
            assert member.must_join
            assert await member.join() == ORDERS
            await member.leave()

    coordinator = play(scene)
    joins = [request.member_id for request in coordinator.received(JoinGroupRequest)]
    known = [] if error == ErrorCode.UNKNOWN_MEMBER_ID else ["member-1"]
    assert joins == ["", "member-1", *(known or ["", "member-1"])]


def test_a_member_that_is_refused_hears_why() -> None:
    async def scene(coordinator: ScriptedCoordinator) -> None:
        coordinator.answers[HeartbeatRequest] = lambda _: HeartbeatResponse(error_code=ErrorCode.FENCED_INSTANCE_ID)
        async with Cluster(coordinator.settings(heartbeat_interval_ms=5)) as cluster:
            member = GroupMember(cluster, "g", ["orders"])
            await member.join()
            with pytest.raises(BrokerRefused, match=r"membership of group g: .*FENCED_INSTANCE_ID"):
                await asyncio.wait_for(member.change(), 10)
            coordinator.answers[JoinGroupRequest] = lambda _: JoinGroupResponse(
                error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            )
            with pytest.raises(BrokerRefused, match="another assignor or protocol"):
                await member.join()

    play(scene)


def test_a_static_member_keeps_its_place() -> None:
    """KIP-345: it says who it is and does not leave."""

    async def scene(coordinator: ScriptedCoordinator) -> None:
        async with Cluster(coordinator.settings(group_instance_id="desk-1")) as cluster:
            member = GroupMember(cluster, "g", ["orders"])
            await member.join()
            await member.leave()

    coordinator = play(scene)
    assert {request.group_instance_id for request in coordinator.received(JoinGroupRequest)} == {"desk-1"}
    assert not coordinator.received(LeaveGroupRequest)


def test_a_rebalance_during_the_sync_begins_anew() -> None:
    async def scene(coordinator: ScriptedCoordinator) -> None:
        again = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
        good = SyncGroupResponse(assignment=encode_assignment(ORDERS))
        coordinator.answers[SyncGroupRequest] = in_turn(again, good)
        async with Cluster(coordinator.settings()) as cluster:
            member = GroupMember(cluster, "g", ["orders"])
            assert await member.join() == ORDERS
            await member.leave()

    assert len(play(scene).received(JoinGroupRequest)) == 3


def test_a_consumer_reads_and_commits_what_was_processed() -> None:
    async def scene(coordinator: ScriptedCoordinator) -> None:
        coordinator.log = {0: batch(b"a", b"b", b"c")}
        settings = coordinator.settings(auto_offset_reset="earliest")
        coordinator.committed = {ORDERS[0]: 0, ORDERS[1]: 7, ORDERS[2]: 5}
        async with Cluster(settings) as cluster:
            async with GroupConsumer(cluster, "g", ["orders"]) as consumer:
                fetched = await consumer.poll()
                assert [record.value for each in fetched for record in each.read()] == [b"a", b"b", b"c"]
                assert coordinator.committed[ORDERS[0]] == 0
                consumer.processed(ORDERS[0], 2)
            assert coordinator.committed == {ORDERS[0]: 2, ORDERS[1]: 7, ORDERS[2]: 5}

    coordinator = play(scene)
    assert names_of(coordinator.requests)[-2:] == ["OffsetCommit", "LeaveGroup"]


def test_what_failed_to_be_processed_is_not_committed() -> None:
    async def scene(coordinator: ScriptedCoordinator) -> None:
        coordinator.log = {0: batch(b"a")}
        coordinator.committed = dict.fromkeys(ORDERS, 0)

        async def fail(cluster: Cluster) -> None:
            async with GroupConsumer(cluster, "g", ["orders"]) as consumer:
                while not await consumer.poll():
                    pass
                raise ZeroDivisionError

        async with Cluster(coordinator.settings()) as cluster:
            with pytest.raises(ZeroDivisionError):
                await fail(cluster)
        assert coordinator.committed[ORDERS[0]] == 0

    play(scene)


def test_a_commit_that_comes_too_late_makes_the_member_join_anew() -> None:
    async def scene(coordinator: ScriptedCoordinator) -> None:
        coordinator.log = {0: batch(b"a")}
        coordinator.committed = dict.fromkeys(ORDERS, 0)
        late = in_turn(refused(ErrorCode.ILLEGAL_GENERATION), OffsetCommitResponse())
        coordinator.answers[OffsetCommitRequest] = late
        settings = coordinator.settings()
        async with Cluster(settings) as cluster, GroupConsumer(cluster, "g", ["orders"]) as consumer:
            while not await consumer.poll():
                pass
            consumer._take_given()
            await consumer.commit()
            assert consumer.member.must_join
            await consumer.poll(10)
            assert not consumer.member.must_join

    play(scene)


def test_a_group_that_was_nowhere_begins_as_it_is_told() -> None:
    async def scene(coordinator: ScriptedCoordinator) -> None:
        async with Cluster(coordinator.settings(auto_offset_reset="none")) as cluster:
            consumer = GroupConsumer(cluster, "g", ["orders"])
            with pytest.raises(ClientError, match="no committed offset in orders-0: set one with `strandline"):
                await consumer.poll()
            await consumer.close()

    play(scene)


def test_more_members_than_partitions_wait() -> None:
    async def scene(coordinator: ScriptedCoordinator) -> None:
        coordinator.answers[SyncGroupRequest] = lambda _: SyncGroupResponse(assignment=b"")
        settings = coordinator.settings(fetch_max_wait_ms=5)
        async with Cluster(settings) as cluster, GroupConsumer(cluster, "g", ["orders"]) as consumer:
            assert await consumer.poll() == []
            assert consumer.positions == {}

    assert "Fetch" not in names_of(play(scene).requests)


@pytest.mark.parametrize("version", [7, 9])
def test_offsets_of_a_group(version: int) -> None:
    """OffsetFetch asks for one group up to version 7 and for several from 8 (KIP-709)."""

    async def scene(coordinator: ScriptedCoordinator) -> None:
        async with Cluster(coordinator.settings()) as cluster:
            await commit_offsets(cluster, "g", {ORDERS[0]: 5, ORDERS[2]: 7})
            assert await committed_offsets(cluster, "g") == {
                ORDERS[0]: Committed(5, -1, ""),
                ORDERS[2]: Committed(7, -1, ""),
            }
            coordinator.committed = {ORDERS[0]: -1}
            assert await committed_offsets(cluster, "g", ORDERS) == {}
            coordinator.answers[OffsetCommitRequest] = lambda _: refused(ErrorCode.UNKNOWN_MEMBER_ID)
            with pytest.raises(BrokerRefused, match="committing orders-0 for group g"):
                await commit_offsets(cluster, "g", {ORDERS[0]: 5})
            coordinator.answers[OffsetDeleteRequest] = lambda _: OffsetDeleteResponse(ErrorCode.GROUP_ID_NOT_FOUND)
            with pytest.raises(BrokerRefused, match="there is no such group"):
                await delete_offsets(cluster, "g", ORDERS)
            await commit_offsets(cluster, "g", {})

    coordinator = play(scene, versions=_versions({ApiKey.OFFSET_FETCH: (1, version)}))
    assert ("OffsetFetch", version) in coordinator.versions_spoken


def _versions(changed: dict[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    return {**ScriptedBroker().versions, **changed}


def test_groups_are_listed_described_and_deleted() -> None:
    listed = [ListedGroup("new", "consumer", "Stable", "consumer"), ListedGroup("a", "consumer", "Empty", "classic")]
    member = DescribedGroupMember("m", "desk", "client", "/10.0.0.1", b"", encode_assignment(ORDERS[:2]))
    strange = DescribedGroupMember("s", member_assignment=b"??")
    unknown = DescribedGroup(ErrorCode.GROUP_ID_NOT_FOUND)
    classic = DescribedGroup(0, None, "a", "Stable", "consumer", "range", [member, strange])

    async def scene(coordinator: ScriptedCoordinator) -> None:
        coordinator.answers |= {
            ListGroupsRequest: lambda _: ListGroupsResponse(groups=listed),
            DescribeGroupsRequest: in_turn(
                DescribeGroupsResponse(groups=[classic]), DescribeGroupsResponse(groups=[unknown])
            ),
            modern.ConsumerGroupDescribeRequest: in_turn(described_modern(0), described_modern(69)),
            DeleteGroupsRequest: lambda _: DeleteGroupsResponse(
                results=[DeletableGroupResult("a", ErrorCode.NON_EMPTY_GROUP)]
            ),
        }
        async with Cluster(coordinator.settings()) as cluster:
            assert [(each.group_id, each.group_type) for each in await list_groups(cluster)] == [
                ("a", "Classic"), ("new", "Consumer"),
            ]  # fmt: skip
            view = await describe_group(cluster, "a")
            assert (view.assignor, view.coordinator_id) == ("range", 1)
            assert [(each.instance_id, each.partitions) for each in view.members] == [
                ("desk", tuple(ORDERS[:2])),
                (None, ()),
            ]
            view = await describe_group(cluster, "new")
            assert (view.group_type, view.epoch, view.members[0].partitions) == ("Consumer", 3, (ORDERS[2],))
            with pytest.raises(BrokerRefused, match="group gone: there is no such group"):
                await describe_group(cluster, "gone")
            with pytest.raises(BrokerRefused, match="group a: the group has members; stop its consumers first"):
                await delete_group(cluster, "a")

    play(scene)


def described_modern(error_code: int) -> modern.ConsumerGroupDescribeResponse:
    assignment = modern.Assignment([modern.TopicPartitions(bytes(16), "orders", [2])])
    group = modern.DescribedGroup(
        error_code,
        group_id="new",
        group_state="Stable",
        group_epoch=3,
        members=[modern.Member("m", assignment=assignment)],
    )
    return modern.ConsumerGroupDescribeResponse(groups=[group])


def test_what_members_tell_each_other_in_kafkas_bytes() -> None:
    """ConsumerProtocol of Kafka: version, topics, user data; read from any version."""
    written = encode_subscription(["b", "a"])
    assert written == b"\0\0" + b"\0\0\0\x02" + b"\0\x01a" + b"\0\x01b" + b"\xff\xff\xff\xff"
    assert decode_subscription(b"\0\x03" + written[2:] + b"\0\0\0\0" + b"\0\0\0\x01") == ["a", "b"]
    assert decode_subscription(b"\x7f") == []
    share = encode_assignment([TopicPartition("t", 1), TopicPartition("t", 0)])
    assert share == b"\0\0" + b"\0\0\0\x01" + b"\0\x01t" + b"\0\0\0\x02" + b"\0\0\0\0\0\0\0\x01" + b"\xff\xff\xff\xff"
    assert decode_assignment(share) == [TopicPartition("t", 0), TopicPartition("t", 1)]
    assert decode_assignment(b"") == []
    with pytest.raises(ProtocolError, match="the bytes are not an assignment"):
        decode_assignment(share[:9])


subscriptions = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3), st.sets(st.sampled_from(["t", "u", "v"])), min_size=1, max_size=5
)


@given(subscriptions, st.dictionaries(st.sampled_from(["t", "u", "v"]), st.integers(0, 9)))
def test_every_partition_goes_to_one_reader_of_its_topic(members: dict[str, set[str]], counts: dict[str, int]) -> None:
    shares = assign_range(members, counts)
    given_out = [partition for share in shares.values() for partition in share]
    wanted = {topic for topics in members.values() for topic in topics}
    assert sorted(given_out) == sorted(
        TopicPartition(topic, index) for topic in wanted for index in range(counts.get(topic, 0))
    )
    for member_id, share in shares.items():
        assert {partition.topic for partition in share} <= members[member_id]
    for topic in wanted:
        sizes = [
            sum(each.topic == topic for each in shares[member])
            for member in sorted(members)
            if topic in members[member]
        ]
        assert sizes == sorted(sizes, reverse=True)
        assert max(sizes) - min(sizes) <= 1
