"""Offsets over the wire: committed, fetched, refused and deleted, in every version (SPEC P4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.group_peer import GroupPeer
from tests.broker.running_groups import RunningGroups

from strandline.model.failures import ErrorCode
from strandline.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from strandline.wire.messages.join_group import JoinGroupResponse
from strandline.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from strandline.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from strandline.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

NOWHERE = bytes(range(16))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGroups]:
    """One for all tests: each has its own group."""
    with RunningGroups(str(tmp_path_factory.mktemp("data"))) as running, running.member() as peer:
        peer.create_topic("orders")
        peer.create_topic("views")
        peer.find_coordinator("g")
        yield running


@pytest.fixture
def peer(running: RunningGroups) -> Iterator[GroupPeer]:
    with running.member() as peer:
        yield peer


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


@pytest.mark.parametrize("commit_version", range(2, 11))
def test_every_version_of_commit(peer: GroupPeer, group: str, commit_version: int) -> None:
    topic_id = peer.create_topic("orders")
    assert peer.commit(group, {0: 7, 3: 9}, metadata="so far", topic_id=topic_id, version=commit_version) == [0, 0]
    assert [(each.committed_offset, each.metadata) for each in peer.committed(group, 0, 1, 3)] == [
        (7, "so far"),
        (-1, ""),
        (9, "so far"),
    ]


@pytest.mark.parametrize("fetch_version", range(1, 11))
def test_every_version_of_fetch(peer: GroupPeer, group: str, fetch_version: int) -> None:
    topic_id = peer.create_topic("orders")
    peer.commit(group, {2: 5}, metadata=None)
    found = peer.committed(group, 2, 0, topic_id=topic_id, version=fetch_version)
    assert [(each.partition_index, each.committed_offset, each.metadata, each.error_code) for each in found] == [
        (2, 5, "", 0),
        (0, -1, "", 0),
    ]


def test_a_member_commits_for_its_generation(peer: GroupPeer, group: str) -> None:
    member = peer.stable_member(group)
    assert peer.commit(group, {0: 7}, member=member) == [0]
    old = JoinGroupResponse(generation_id=member.generation_id - 1, member_id=member.member_id)
    unknown = JoinGroupResponse(generation_id=member.generation_id, member_id="somebody")
    assert peer.commit(group, {0: 8}, member=old) == [ErrorCode.ILLEGAL_GENERATION]
    assert peer.commit(group, {0: 8}, member=unknown) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert peer.commit(group, {0: 8}) == [ErrorCode.UNKNOWN_MEMBER_ID]  # somebody without a member
    assert peer.offset(group) == 7


def test_a_generation_of_a_group_that_is_not_there(peer: GroupPeer, group: str) -> None:
    member = JoinGroupResponse(generation_id=1, member_id="m")
    assert peer.commit(group, {0: 8}, member=member, version=8) == [ErrorCode.ILLEGAL_GENERATION]
    assert peer.commit(group, {0: 8}, member=member, version=9) == [ErrorCode.GROUP_ID_NOT_FOUND]


def test_each_partition_has_its_own_error(peer: GroupPeer, group: str) -> None:
    assert peer.commit(group, {0: 7, 99: 1, -1: 1}) == [0, *[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 2]
    assert peer.commit(group, {0: 1}, topic="nowhere") == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert peer.commit(group, {0: 1}, topic_id=NOWHERE, version=10) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert peer.offset(group) == 7


def test_a_commit_of_nothing(peer: GroupPeer, group: str) -> None:
    assert peer.ask(OffsetCommitRequest(group), 9, OffsetCommitResponse).topics == []
    assert group not in [listed.group_id for listed in peer.list_groups()]


def test_metadata_has_a_bound(peer: GroupPeer, group: str) -> None:
    assert peer.commit(group, {0: 7}, metadata="m" * 4096) == [0]
    assert peer.commit(group, {0: 8}, metadata="m" * 4097) == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert peer.offset(group) == 7


def test_the_group_without_a_name_has_offsets_too(peer: GroupPeer) -> None:
    """As old simple consumers use it."""
    assert peer.commit("", {0: 3}) == [0]
    assert peer.offset("") == 3


def test_nobody_is_told_before_the_disk_has_it(tmp_path: Path) -> None:
    """SPEC L9: where every record is to be flushed, a commit is one when it is."""
    with RunningGroups(str(tmp_path), log_flush_interval_messages="1") as running, running.member() as peer:
        peer.create_topic("orders")
        peer.find_coordinator("g")
        for offset in range(5):
            assert peer.commit("g", {0: offset}) == [0]
            assert peer.offset("g") == offset


# Fetching.


def test_all_that_there_are(peer: GroupPeer, group: str) -> None:
    topic_id = peer.create_topic("orders")
    peer.commit(group, {2: 5, 0: 3})
    peer.commit(group, {1: 1}, topic="views")
    for version in range(2, 11):
        request = OffsetFetchRequest(group, groups=[OffsetFetchRequestGroup(group)])
        answer = peer.ask(request, version, OffsetFetchResponse)
        topics = answer.groups[0].topics if version >= 8 else answer.topics
        found = [[(each.partition_index, each.committed_offset) for each in topic.partitions] for topic in topics]
        assert found == [[(0, 3), (2, 5)], [(1, 1)]]
        if version < 10:
            assert [topic.name for topic in topics] == ["orders", "views"]
    assert answer.groups[0].topics[0].topic_id == topic_id


def test_many_groups_at_once(peer: GroupPeer, group: str) -> None:
    for number in range(3):
        peer.commit(f"{group}{number}", {0: number})
    wanted = [
        OffsetFetchRequestGroup(f"{group}{number}", topics=[OffsetFetchRequestTopics("orders", partition_indexes=[0])])
        for number in (2, 0, 9, 1)
    ]
    answer = peer.ask(OffsetFetchRequest(groups=wanted), 8, OffsetFetchResponse)
    assert [each.group_id for each in answer.groups] == [each.group_id for each in wanted]
    assert [each.topics[0].partitions[0].committed_offset for each in answer.groups] == [2, 0, -1, 1]


def test_topics_that_are_not_there_have_no_offsets(peer: GroupPeer, group: str) -> None:
    (unknown,) = peer.committed(group, 0, topic="nowhere")
    assert (unknown.committed_offset, unknown.error_code) == (-1, 0)
    (unknown,) = peer.committed(group, 0, topic_id=NOWHERE, version=10)
    assert (unknown.committed_offset, unknown.error_code) == (-1, ErrorCode.UNKNOWN_TOPIC_ID)


def test_no_groups_at_all(peer: GroupPeer) -> None:
    assert peer.ask(OffsetFetchRequest(), 8, OffsetFetchResponse).groups == []


@pytest.mark.parametrize("version", [1, 2, 7, 8])
def test_an_error_is_where_the_version_has_it(tmp_path: Path, version: int) -> None:
    """Nobody asked for the coordinator, so there is none."""
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        topics = [OffsetFetchRequestTopics("orders", partition_indexes=[0, 1])]
        request = OffsetFetchRequest(
            "g", [OffsetFetchRequestTopic("orders", [0, 1])], [OffsetFetchRequestGroup("g", topics=topics)]
        )
        answer = peer.ask(request, version, OffsetFetchResponse)
        if version == 1:
            assert [each.error_code for each in answer.topics[0].partitions] == [ErrorCode.NOT_COORDINATOR] * 2
        elif version < 8:
            assert (answer.error_code, answer.topics) == (ErrorCode.NOT_COORDINATOR, [])
        else:
            assert (answer.groups[0].error_code, answer.groups[0].topics) == (ErrorCode.NOT_COORDINATOR, [])


# Forgetting.


def delete_offsets(peer: GroupPeer, group: str, topics: dict[str, list[int]]) -> OffsetDeleteResponse:
    wanted = [
        OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(index) for index in indexes])
        for name, indexes in topics.items()
    ]
    return peer.ask(OffsetDeleteRequest(group, wanted), 0, OffsetDeleteResponse)


def test_offsets_are_deleted(peer: GroupPeer, group: str) -> None:
    peer.commit(group, {0: 3, 1: 4})
    answer = delete_offsets(peer, group, {"orders": [0, 99], "nowhere": [0]})
    assert answer.error_code == 0
    errors = [[partition.error_code for partition in topic.partitions] for topic in answer.topics]
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert errors == [[0, missing], [missing]]
    assert (peer.offset(group, 0), peer.offset(group, 1)) == (-1, 4)


def test_offsets_of_no_group(peer: GroupPeer, group: str) -> None:
    assert delete_offsets(peer, group, {"orders": [0]}).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert delete_offsets(peer, "", {"orders": [0]}).error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("version", range(3))
def test_groups_are_deleted(peer: GroupPeer, group: str, version: int) -> None:
    alive, empty, missing = f"{group}-alive", f"{group}-empty", f"{group}-missing"
    peer.stable_member(alive)
    peer.commit(empty, {0: 3})
    answer = peer.ask(DeleteGroupsRequest([empty, alive, missing, empty]), version, DeleteGroupsResponse)
    assert [(each.group_id, each.error_code) for each in answer.results] == [
        (empty, 0),
        (alive, ErrorCode.NON_EMPTY_GROUP),
        (missing, ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert peer.offset(empty) == -1
    assert [listed.group_id for listed in peer.list_groups() if group in listed.group_id] == [alive]


def test_groups_are_listed_by_state_and_type(tmp_path: Path) -> None:
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        assert peer.list_groups() == []
        peer.create_topic("orders")
        peer.stable_member("alive")
        peer.commit("empty", {0: 3})
        found = [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in peer.list_groups()]
        assert found == [("alive", "consumer", "Stable", "classic"), ("empty", "", "Empty", "classic")]
        assert [each.group_id for each in peer.list_groups("stable")] == ["alive"]
        assert [each.group_id for each in peer.list_groups(types=("classic",))] == ["alive", "empty"]
        assert peer.list_groups(types=("consumer",)) == []
