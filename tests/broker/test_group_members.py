"""Classic groups over the wire: members join, wait for one another, stay, and go (SPEC P4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from tests.broker.group_peer import GroupPeer, errors_of
from tests.broker.kafka_peer import WAIT_S
from tests.broker.running_groups import SHORT_SESSION_MS, RunningGroups

from strandline.broker.asking import Stage
from strandline.model.failures import ErrorCode
from strandline.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from strandline.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from strandline.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from strandline.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from strandline.wire.messages.sync_group import SyncGroupResponse


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGroups]:
    """One for all tests: each has its own group."""
    with RunningGroups(str(tmp_path_factory.mktemp("data"))) as running, running.member() as peer:
        peer.find_coordinator("g")
        yield running


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


@pytest.fixture
def anna(running: RunningGroups) -> Iterator[GroupPeer]:
    with running.member() as peer:
        yield peer


@pytest.fixture
def bert(running: RunningGroups) -> Iterator[GroupPeer]:
    with running.member() as peer:
        yield peer


def wait_for(peer: GroupPeer, group: str, joined: JoinGroupResponse, error_code: ErrorCode) -> None:
    deadline = monotonic() + WAIT_S
    while (answer := peer.heartbeat(group, joined)) != error_code:
        assert answer == 0
        assert monotonic() < deadline
        sleep(0.005)


def test_two_members_wait_for_one_another(anna: GroupPeer, bert: GroupPeer, group: str) -> None:
    first = anna.stable_member(group)
    assert (first.generation_id, first.leader, first.protocol_name) == (1, first.member_id, "range")
    bert.tell_join(group, version=3)  # which gives no ids before
    wait_for(anna, group, first, ErrorCode.REBALANCE_IN_PROGRESS)
    again = anna.join(group, first.member_id)
    second = bert.hear_joined(3)
    assert (again.generation_id, second.generation_id) == (2, 2)
    assert again.leader == second.leader == first.member_id
    assert {member.member_id for member in again.members} == {again.member_id, second.member_id}
    assert second.members == []
    bert.tell_sync(group, second)
    assignments = {again.member_id: b"to anna", second.member_id: b"to bert"}
    assert anna.sync(group, again, assignments).assignment == b"to anna"
    assert bert.hear(5, SyncGroupResponse).assignment == b"to bert"
    assert (anna.heartbeat(group, again), bert.heartbeat(group, second)) == (0, 0)


@pytest.mark.parametrize("version", range(10))
def test_every_version_of_join(anna: GroupPeer, group: str, version: int) -> None:
    joined = anna.join(group, version=version)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    assert joined.leader == joined.member_id
    assert joined.member_id.startswith("tester-")
    assert [member.metadata for member in joined.members] == [
        b"of " + (joined.member_id.encode() if version >= 4 else b"")
    ]


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_sync(anna: GroupPeer, group: str, version: int) -> None:
    joined = anna.join(group)
    synced = anna.sync(group, joined, {joined.member_id: b"all"}, version=version)
    assert (synced.error_code, synced.assignment) == (0, b"all")
    assert synced.protocol_name == ("range" if version >= 5 else None)


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_heartbeat(anna: GroupPeer, group: str, version: int) -> None:
    joined = anna.stable_member(group)
    assert anna.heartbeat(group, joined, version) == 0
    joined.member_id = "somebody"
    assert anna.heartbeat(group, joined, version) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(6))
def test_every_version_of_leave(anna: GroupPeer, group: str, version: int) -> None:
    joined = anna.stable_member(group)
    unknown = anna.leave(group, "somebody", version=version)
    left = anna.leave(group, joined.member_id, version=version)
    if version >= 3:
        assert (unknown.error_code, errors_of(unknown)) == (0, [ErrorCode.UNKNOWN_MEMBER_ID])
        assert (left.error_code, errors_of(left)) == (0, [0])
    else:
        assert (unknown.error_code, left.error_code) == (ErrorCode.UNKNOWN_MEMBER_ID, 0)
    assert anna.heartbeat(group, joined) == ErrorCode.UNKNOWN_MEMBER_ID


def test_several_are_sent_away_by_name(anna: GroupPeer, bert: GroupPeer, group: str) -> None:
    """KIP-345: as the tools do it."""
    joined = anna.stable_member(group, instance_id="kitchen")
    members = [MemberIdentity("", "kitchen"), MemberIdentity("", "cellar")]
    left = bert.ask(LeaveGroupRequest(group, members=members), 5, LeaveGroupResponse)
    assert errors_of(left) == [0, ErrorCode.UNKNOWN_MEMBER_ID]
    assert anna.heartbeat(group, joined) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_comes_back_without_a_rebalance(anna: GroupPeer, bert: GroupPeer, group: str) -> None:
    """KIP-345; who still uses the old id is fenced (82)."""
    first = anna.stable_member(group, instance_id="kitchen")
    anna.socket.close()
    again = bert.join(group, instance_id="kitchen")
    assert (again.error_code, again.generation_id) == (0, first.generation_id)
    assert again.member_id != first.member_id
    assert bert.sync(group, again).assignment == b"all"
    zombie = HeartbeatRequest(group, first.generation_id, first.member_id, "kitchen")
    assert bert.ask(zombie, 4, HeartbeatResponse).error_code == ErrorCode.FENCED_INSTANCE_ID


def test_a_silent_member_is_put_out_and_the_others_go_on(anna: GroupPeer, bert: GroupPeer, group: str) -> None:
    first = anna.stable_member(group, session_ms=SHORT_SESSION_MS)
    bert.tell_join(group, version=3, session_ms=60_000)  # and anna does not come again
    second = bert.hear_joined(3)
    assert (second.generation_id, second.leader) == (2, second.member_id)
    assert [member.member_id for member in second.members] == [second.member_id]
    assert anna.heartbeat(group, first) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_goes_in_the_middle_of_joining(anna: GroupPeer, bert: GroupPeer, group: str) -> None:
    first = anna.stable_member(group)
    bert.tell_join(group, version=3, session_ms=SHORT_SESSION_MS)
    wait_for(anna, group, first, ErrorCode.REBALANCE_IN_PROGRESS)
    bert.socket.close()
    again = anna.join(group, first.member_id)
    assert (again.error_code, again.generation_id) == (0, 2)
    assert anna.sync(group, again, {again.member_id: b"all"}).error_code == 0
    deadline = monotonic() + WAIT_S
    while len(described(anna, group).members) > 1:
        assert monotonic() < deadline
        anna.heartbeat(group, again)
        sleep(0.01)


def described(peer: GroupPeer, group: str, version: int = 5) -> DescribedGroup:
    (found,) = peer.ask(DescribeGroupsRequest([group]), version, DescribeGroupsResponse).groups
    return found


def test_while_its_group_is_loaded_a_member_is_only_alive(
    running: RunningGroups, anna: GroupPeer, bert: GroupPeer, group: str
) -> None:
    joined = anna.stable_member(group)
    led = running.call(lambda: running.broker.groups.led_groups(group))
    assert led is not None
    running.call(lambda: setattr(led, "stage", Stage.LOADING))
    try:
        assert anna.heartbeat(group, joined) == 0
        assert anna.sync(group, joined).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert bert.join(group).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert bert.leave(group, "m").error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert described(bert, group).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    finally:
        running.call(lambda: setattr(led, "stage", Stage.ACTIVE))


# Bad input.


@pytest.mark.parametrize("session_ms", [0, -1, SHORT_SESSION_MS - 1, 1_800_001])
def test_sessions_have_bounds(anna: GroupPeer, group: str, session_ms: int) -> None:
    assert anna.join(group, session_ms=session_ms).error_code == ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_new_member_gets_an_id_before_it_may_join(anna: GroupPeer, group: str) -> None:
    """KIP-394."""
    anna.tell_join(group, version=4)
    answer = anna.hear_joined(4)
    assert (answer.error_code, answer.generation_id) == (ErrorCode.MEMBER_ID_REQUIRED, -1)
    assert answer.member_id.startswith("tester-")


def test_requests_that_are_not_of_this_generation(anna: GroupPeer, group: str) -> None:
    joined = anna.stable_member(group)
    old = JoinGroupResponse(generation_id=joined.generation_id - 1, member_id=joined.member_id)
    unknown = JoinGroupResponse(generation_id=joined.generation_id, member_id="somebody")
    assert anna.heartbeat(group, old) == ErrorCode.ILLEGAL_GENERATION
    assert anna.sync(group, old).error_code == ErrorCode.ILLEGAL_GENERATION
    assert anna.sync(group, unknown).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert anna.join(group, "somebody").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert anna.heartbeat(group, joined) == 0


def test_a_group_without_a_name(anna: GroupPeer) -> None:
    nobody = JoinGroupResponse(member_id="m")
    assert anna.join("").error_code == ErrorCode.INVALID_GROUP_ID
    assert anna.sync("", nobody).error_code == ErrorCode.INVALID_GROUP_ID
    assert anna.heartbeat("", nobody) == ErrorCode.INVALID_GROUP_ID
    assert anna.leave("", "m").error_code == ErrorCode.INVALID_GROUP_ID


def test_members_of_another_kind(anna: GroupPeer, bert: GroupPeer, group: str) -> None:
    anna.stable_member(group)
    assert bert.join(group, protocol_type="connect").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    nothing = JoinGroupRequest(group, 10_000, 10_000, "", None, "consumer", [])
    assert bert.ask(nothing, 5, JoinGroupResponse).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_full_group(tmp_path: Path) -> None:
    small = RunningGroups(str(tmp_path), group_max_size="1")
    with small as running, running.member() as anna, running.member() as bert:
        anna.stable_member("g")
        assert bert.join("g").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


@pytest.mark.parametrize("length", [300, 32_767])
def test_a_long_name(anna: GroupPeer, length: int) -> None:
    joined = anna.stable_member("g" * length)
    assert anna.heartbeat("g" * length, joined) == 0


def test_a_name_that_cannot_be_stored(anna: GroupPeer) -> None:
    for length in (32_768, 10_000_000):
        assert anna.join("g" * length).error_code == ErrorCode.INVALID_REQUEST
        assert anna.heartbeat("g" * length, JoinGroupResponse()) == ErrorCode.UNKNOWN_MEMBER_ID


def test_many_groups_in_one_request(anna: GroupPeer, group: str) -> None:
    names = [f"{group}-{number}" for number in range(1_200)]
    anna.stable_member(names[777])
    answer = anna.ask(DescribeGroupsRequest(names), 5, DescribeGroupsResponse)
    assert [found.group_id for found in answer.groups] == names
    assert [found.group_id for found in answer.groups if found.group_state == "Stable"] == [names[777]]


# Looking at it.


def test_a_group_is_described(anna: GroupPeer, bert: GroupPeer, group: str) -> None:
    joined = anna.stable_member(group, instance_id="kitchen")
    for version in range(7):
        found = described(bert, group, version)
        assert (found.error_code, found.group_state) == (0, "Stable")
        assert (found.protocol_type, found.protocol_data) == ("consumer", "range")
        (member,) = found.members
        assert (member.member_id, member.client_id, member.client_host) == (joined.member_id, "tester", "/127.0.0.1")
        assert member.group_instance_id == ("kitchen" if version >= 4 else None)
        assert (member.member_metadata, member.member_assignment) == (b"of ", b"all")


def test_a_group_that_is_not_there_is_dead(anna: GroupPeer, group: str) -> None:
    for version in range(6):
        assert (described(anna, group, version).error_code, described(anna, group, version).group_state) == (0, "Dead")
    newest = described(anna, group, 6)
    assert (newest.error_code, newest.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert newest.error_message == f"there is no classic group {group}"
