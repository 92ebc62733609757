"""The shard as the broker uses it: writes that fail, loading from compacted logs, limits, and odd requests."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from tests.groups.shell import LogEntry, Shell

from strandline.groups.classic_group import ClassicGroup
from strandline.groups.commands import (
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    DescribeGroups,
    Heartbeat,
    JoinGroup,
    JoinProtocol,
    ListGroups,
    OffsetCommit,
    OffsetFetch,
    OffsetToCommit,
    SyncGroup,
)
from strandline.groups.decisions import TimerKey, TimerKind, client_error
from strandline.groups.records import ConsumerGroupMetadataValue, GroupMetadataKey, GroupRecord
from strandline.groups.replies import (
    ConsumerGroupDescribeReply,
    ConsumerGroupHeartbeatReply,
    DescribeGroupsReply,
    HeartbeatReply,
    JoinGroupReply,
    ListGroupsReply,
    OffsetCommitReply,
    OffsetFetchReply,
    SyncGroupReply,
)
from strandline.groups.settings import GroupSettings
from strandline.groups.shard import GroupShard
from strandline.groups.states import MAY_BECOME, ClassicState, MemberState
from strandline.model.coordinator_timers import Timer
from strandline.model.failures import BrokenInvariant, ErrorCode

JOIN = JoinGroup(
    group="g",
    client_id="c",
    session_timeout_ms=10_000,
    rebalance_timeout_ms=60_000,
    protocol_type="consumer",
    protocols=(JoinProtocol(name="range"),),
    unique_id="1",
    needs_member_id=False,
)
BEAT = ConsumerGroupHeartbeat(
    group="k",
    member_id="m1",
    member_epoch=0,
    rebalance_timeout_ms=60_000,
    subscribed_topic_names=("orders",),
    owned_partitions=(),
)


def quick(**settings: int) -> Shell:
    return Shell(GroupSettings(group_initial_rebalance_delay_ms=0, **settings))  # type: ignore[arg-type]


def stable(shell: Shell, *unique_ids: str) -> list[str]:
    tickets = [shell.wait(replace(JOIN, unique_id=unique_id)) for unique_id in unique_ids]
    shell.pass_time(0)
    members = [shell.answer(ticket, JoinGroupReply).member_id for ticket in tickets]
    for member_id in members:
        shell.decide(SyncGroup(group="g", member_id=member_id, generation=1))
    return members


def group_state(shell: Shell) -> str:
    return shell.ask(DescribeGroups(groups=("g",)), DescribeGroupsReply).groups[0].state


def test_a_leaders_sync_that_is_not_written_makes_everybody_join_again() -> None:
    """As in Kafka: whoever syncs after it must not wait for an assignment that nobody brings."""
    shell = quick()
    tickets = [shell.wait(replace(JOIN, unique_id=unique_id)) for unique_id in "12"]
    shell.pass_time(0)
    waiting = shell.wait(SyncGroup(group="g", member_id="c-2", generation=1))
    shell.append_error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    sync = SyncGroup(group="g", member_id="c-1", generation=1, assignments=(("c-2", b"all"),))
    assert shell.ask(sync, SyncGroupReply).error_code is ErrorCode.NOT_COORDINATOR
    assert shell.answer(waiting, SyncGroupReply).error_code is ErrorCode.NOT_COORDINATOR
    assert group_state(shell) == "PreparingRebalance"
    shell.append_error = None
    assert shell.ask(sync, SyncGroupReply).error_code is ErrorCode.REBALANCE_IN_PROGRESS
    shell.wait(replace(JOIN, member_id="c-2"))
    assert shell.ask(replace(JOIN, member_id="c-1"), JoinGroupReply).generation == 2
    assert shell.ask(replace(sync, generation=2), SyncGroupReply).error_code is ErrorCode.NONE
    again = shell.ask(SyncGroup(group="g", member_id="c-2", generation=2), SyncGroupReply)
    assert again.assignment == b"all"
    assert len(tickets) == 2


def test_a_silent_consumer_is_put_out_when_the_log_takes_records_again() -> None:
    shell = Shell()
    shell.set_topics(orders=1)
    shell.ask(BEAT, ConsumerGroupHeartbeatReply)
    shell.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert len(shell.pass_time(46_000)) == 3  # the session's end, and twice again
    shell.append_error = None
    shell.pass_time(500)
    described = shell.ask(ConsumerGroupDescribe(groups=("k",)), ConsumerGroupDescribeReply)
    assert described.groups[0].state == "Empty"


def test_nothing_of_a_heartbeat_shows_until_its_records_are_applied() -> None:
    shard = GroupShard(GroupSettings())
    first = shard.decide(BEAT, 0)
    assert first.records
    assert shard.decide(ListGroups(), 0).reply == ListGroupsReply(groups=())
    assert shard.decide(BEAT, 0) == first


@pytest.mark.parametrize(
    ("append_error", "is_commit", "heard"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, False, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, False, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, False, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.MESSAGE_TOO_LARGE, True, ErrorCode.INVALID_COMMIT_OFFSET_SIZE),
        (ErrorCode.INVALID_TXN_STATE, True, ErrorCode.INVALID_TXN_STATE),
    ],
)
def test_errors_of_our_log_are_not_the_clients_topics(
    append_error: ErrorCode, is_commit: bool, heard: ErrorCode
) -> None:
    assert client_error(append_error, is_commit=is_commit) is heard


def test_a_compacted_log_loads_as_the_whole_log_does() -> None:
    """Any record may be gone that a later one with its key replaces, and tombstones with nothing left to remove."""
    shell = quick()
    shell.set_topics(orders=4)
    stable(shell, "1", "2")
    for number in (1, 2, 3):
        shell.ask(replace(BEAT, member_id=f"m{number}"), ConsumerGroupHeartbeatReply)
    shell.ask(ConsumerGroupHeartbeat(group="k", member_id="m2", member_epoch=-1), ConsumerGroupHeartbeatReply)
    offsets = (OffsetToCommit(topic="orders", partition=0, offset=1),)
    shell.ask(OffsetCommit(group="k", member_id="m1", generation=1, offsets=offsets), OffsetCommitReply)
    shell.ask(OffsetCommit(group="s", offsets=offsets), OffsetCommitReply)
    whole = _told(shell)
    entries = [entry for entry in shell.log if isinstance(entry, LogEntry)]
    last = {entry.key: place for place, entry in enumerate(entries)}
    for seed in range(20):
        random = Random(seed)
        kept = [entry for place, entry in enumerate(entries) if last[entry.key] == place or random.random() < seed / 20]
        shell.log = [entry for entry in kept if seed > 0 or entry.value is not None]
        shell.restart()
        assert _told(shell) == whole


def _told(shell: Shell) -> list[str]:
    consumers = shell.ask(ConsumerGroupDescribe(groups=("k",)), ConsumerGroupDescribeReply)
    return [
        str(shell.ask(DescribeGroups(groups=("g", "s")), DescribeGroupsReply)),
        *sorted(map(str, consumers.groups[0].members)),
        *(str(shell.ask(OffsetFetch(group=group), OffsetFetchReply)) for group in ("k", "s")),
    ]


def test_a_group_above_a_lowered_limit_shrinks_by_its_last_comers() -> None:
    shell = quick()
    members = stable(shell, "1", "2", "3")
    shell.settings = GroupSettings(group_max_size=2, group_initial_rebalance_delay_ms=0)
    shell.restart()
    assert group_state(shell) == "PreparingRebalance"
    heartbeat = Heartbeat(group="g", member_id=members[0], generation=1)
    assert shell.ask(heartbeat, HeartbeatReply).error_code is ErrorCode.REBALANCE_IN_PROGRESS
    shell.wait(replace(JOIN, member_id=members[0]))
    shell.wait(replace(JOIN, member_id=members[1]))
    turned_away = shell.ask(replace(JOIN, member_id=members[2]), JoinGroupReply)
    assert turned_away.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group_state(shell) == "CompletingRebalance"


def test_a_pending_member_of_a_full_group_is_turned_away() -> None:
    shell = quick(group_max_size=1)
    stable(shell, "1")
    assert shell.ask(replace(JOIN, unique_id="2", needs_member_id=True), JoinGroupReply).error_code is (
        ErrorCode.GROUP_MAX_SIZE_REACHED
    )


def test_an_id_given_out_is_no_place_in_the_group() -> None:
    shell = quick(group_max_size=1)
    given = shell.ask(replace(JOIN, needs_member_id=True), JoinGroupReply)
    assert given.error_code is ErrorCode.MEMBER_ID_REQUIRED
    shell.wait(replace(JOIN, unique_id="2"))
    late = shell.ask(replace(JOIN, member_id=given.member_id), JoinGroupReply)
    assert late.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    shell.pass_time(0)
    assert group_state(shell) == "CompletingRebalance"


def test_settings_can_change_while_it_runs() -> None:
    shell = quick()
    shell.shard.settings_changed(GroupSettings(group_min_session_timeout_ms=20_000))
    assert shell.ask(JOIN, JoinGroupReply).error_code is ErrorCode.INVALID_SESSION_TIMEOUT


def test_a_consumer_group_has_a_limit_too() -> None:
    shell = quick(group_consumer_max_size=1)
    shell.ask(BEAT, ConsumerGroupHeartbeatReply)
    refused = shell.ask(replace(BEAT, member_id="m2"), ConsumerGroupHeartbeatReply)
    assert refused.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert shell.ask(BEAT, ConsumerGroupHeartbeatReply).error_code is ErrorCode.NONE


def test_a_retry_replaces_the_request_that_waits() -> None:
    shell = quick()
    stable(shell, "1", "2")
    shell.wait(replace(JOIN, unique_id="3"))
    first = shell.wait(replace(JOIN, member_id="c-1"))
    second = shell.wait(replace(JOIN, member_id="c-1"))
    assert shell.answer(first, JoinGroupReply).error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert second in shell.parked


def test_cooperative_members_rebalance_twice_while_they_go_on() -> None:
    """Members of the cooperative protocol keep their partitions while they join, and join again to hand them over."""
    shell = quick()
    stable(shell, "1", "2")
    owner = shell.wait(replace(JOIN, member_id="c-1", protocols=(JoinProtocol(name="range", metadata=b"owns p0"),)))
    commit = OffsetCommit(
        group="g",
        member_id="c-2",
        generation=1,
        offsets=(OffsetToCommit(topic="orders", partition=0, offset=4),),
    )
    assert shell.ask(commit, OffsetCommitReply).results[0].error_code is ErrorCode.NONE
    follower = shell.ask(replace(JOIN, member_id="c-2"), JoinGroupReply)
    assert shell.answer(owner, JoinGroupReply).members[0].metadata == b"owns p0"
    assert follower.generation == 2


def test_a_protocol_named_twice_is_known_once() -> None:
    """Or a member alone in its group would know it twice as often as there are members, and have none to vote for."""
    shell = quick()
    twice = (JoinProtocol(name="range"), JoinProtocol(name="range", metadata=b"again"))
    ticket = shell.wait(replace(JOIN, protocols=twice))
    shell.pass_time(0)
    assert shell.answer(ticket, JoinGroupReply).protocol == "range"
    other = replace(JOIN, unique_id="2", protocols=(JoinProtocol(name="sticky"),))
    assert shell.ask(other, JoinGroupReply).error_code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_the_range_assignor_is_asked_for_by_most() -> None:
    shell = Shell()
    shell.set_topics(orders=3, payments=3)
    beat = replace(BEAT, subscribed_topic_names=("orders", "payments"), server_assignor="range")
    for number in (1, 2):
        shell.ask(replace(beat, member_id=f"m{number}"), ConsumerGroupHeartbeatReply)
    group = shell.ask(ConsumerGroupDescribe(groups=("k",)), ConsumerGroupDescribeReply).groups[0]
    assert group.assignor == "range"
    for member in group.members:
        assert len({entry.partitions for entry in member.target_assignment}) == 1


def test_commits_of_clients_that_know_no_epochs() -> None:
    shell = Shell()
    shell.set_topics(orders=1)
    shell.ask(BEAT, ConsumerGroupHeartbeatReply)
    offsets = (OffsetToCommit(topic="orders", partition=0, offset=1),)
    old = OffsetCommit(group="k", member_id="m1", generation=1, knows_epochs=False, offsets=offsets)
    assert shell.ask(old, OffsetCommitReply).results[0].error_code is ErrorCode.UNSUPPORTED_VERSION
    gone = OffsetCommit(group="gone", member_id="m1", generation=1, knows_epochs=False, offsets=offsets)
    assert shell.ask(gone, OffsetCommitReply).results[0].error_code is ErrorCode.ILLEGAL_GENERATION


LONG = "ü" * 20_000


@pytest.mark.parametrize(
    "command",
    [
        replace(JOIN, group=LONG),
        replace(JOIN, client_id=LONG),
        replace(JOIN, group_instance_id=LONG),
        replace(JOIN, protocol_type=LONG),
        replace(JOIN, protocols=(JoinProtocol(name=LONG),)),
    ],
    ids=["group", "client", "instance", "type", "protocol"],
)
def test_names_that_no_record_can_hold_are_refused(command: JoinGroup) -> None:
    shell = quick()
    assert shell.ask(command, JoinGroupReply).error_code is ErrorCode.INVALID_REQUEST
    assert not shell.ask(ListGroups(), ListGroupsReply).groups


def test_offsets_that_no_record_can_hold_are_refused() -> None:
    shell = quick(offset_metadata_max_bytes=100_000)
    offsets = (
        OffsetToCommit(topic="orders", partition=0, offset=1, metadata="ü" * 20_000),
        OffsetToCommit(topic="o" * 40_000, partition=0, offset=1),
    )
    reply = shell.ask(OffsetCommit(group="g", offsets=offsets), OffsetCommitReply)
    assert [result.error_code for result in reply.results] == [
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]
    assert not shell.log


def test_a_timer_that_is_not_set_means_nothing() -> None:
    shell = quick()
    members = stable(shell, "1")
    key = TimerKey(TimerKind.SESSION, "g", members[0])
    assert not shell.shard.timer_fired(key, shell.now_ms).timers
    assert not shell.shard.timer_fired(TimerKey(TimerKind.JOIN, "nowhere"), shell.now_ms).timers
    assert str(Timer(key, None)) == "timer session/g/c-1 off"


def test_a_record_with_anothers_value_is_our_bug() -> None:
    with pytest.raises(BrokenInvariant):
        GroupShard(GroupSettings()).apply(GroupRecord(GroupMetadataKey("g"), ConsumerGroupMetadataValue(epoch=1)), 0)


def test_every_state_has_its_followers_and_the_dead_none() -> None:
    assert set(MAY_BECOME) == set(ClassicState)
    assert not MAY_BECOME[ClassicState.DEAD]
    assert all(ClassicState.DEAD in MAY_BECOME[state] for state in ClassicState if state is not ClassicState.DEAD)
    with pytest.raises(BrokenInvariant, match="cannot go from Empty to Stable"):
        ClassicGroup("g").become(ClassicState.STABLE, 0)


def test_member_states_of_newer_software_are_unknown() -> None:
    assert MemberState.of(1) is MemberState.UNREVOKED_PARTITIONS
    assert MemberState.of(9) is MemberState.UNKNOWN
