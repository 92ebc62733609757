"""When offsets end (KIP-211, SPEC P4), with a clock that stands still: not early after loading (KAFKA-8069), not while
rebalancing (KAFKA-13636), not while somebody reads the topic."""

from __future__ import annotations

import struct
from dataclasses import replace

from tests.groups.shell import LogEntry, Shell

from strandline.groups.commands import (
    ConsumerGroupHeartbeat,
    JoinGroup,
    JoinProtocol,
    LeaveGroup,
    LeavingMember,
    ListGroups,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    OffsetToCommit,
    PartitionsDeleted,
    SyncGroup,
)
from strandline.groups.formats import encode_key
from strandline.groups.records import OffsetCommitKey
from strandline.groups.replies import (
    ConsumerGroupHeartbeatReply,
    JoinGroupReply,
    ListGroupsReply,
    OffsetDeleteReply,
    OffsetFetchReply,
    SyncGroupReply,
)
from strandline.groups.settings import GroupSettings
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition

RETENTION_MS = 3_600_000
CHECK_MS = 60_000
SETTINGS = GroupSettings(
    offsets_retention_ms=RETENTION_MS, offsets_retention_check_interval_ms=CHECK_MS, group_initial_rebalance_delay_ms=0
)


def subscription(*topics: str) -> bytes:
    """As a consumer writes it: version, topics, user data."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 1, len(topics)) + names + struct.pack(">i", -1)


def commit(shell: Shell, *partitions: str, group: str = "g", member_id: str = "", generation: int = -1) -> None:
    offsets = tuple(OffsetToCommit(topic=topic, partition=0, offset=1) for topic in partitions)
    decision = shell.decide(OffsetCommit(group=group, member_id=member_id, generation=generation, offsets=offsets))
    assert len(decision.records) == len(partitions), decision.reply


def remaining(shell: Shell, group: str = "g") -> set[str]:
    return {entry.topic for entry in shell.ask(OffsetFetch(group=group), OffsetFetchReply).offsets}


def groups(shell: Shell) -> set[str]:
    return {group.group for group in shell.ask(ListGroups(), ListGroupsReply).groups}


def join(shell: Shell, metadata: bytes, member_id: str = "") -> JoinGroupReply:
    decision = shell.decide(
        JoinGroup(
            group="g",
            member_id=member_id,
            client_id="c",
            session_timeout_ms=1_800_000,
            rebalance_timeout_ms=1_800_000,
            protocol_type="consumer",
            protocols=(JoinProtocol(name="range", metadata=metadata),),
            unique_id="1",
            needs_member_id=False,
        )
    )
    if decision.ticket is None:
        assert isinstance(decision.reply, JoinGroupReply)
        return decision.reply
    shell.pass_time(0)
    return shell.answer(decision.ticket, JoinGroupReply)


def stable_group(shell: Shell, metadata: bytes) -> JoinGroupReply:
    joined = join(shell, metadata)
    shell.ask(
        SyncGroup(group="g", member_id=joined.member_id, generation=joined.generation, assignments=()),
        SyncGroupReply,
    )
    return joined


def test_a_simple_groups_offsets_go_by_their_commit() -> None:
    shell = Shell(SETTINGS)
    commit(shell, "old")
    shell.pass_time(RETENTION_MS // 2)
    commit(shell, "new")
    shell.pass_time(RETENTION_MS // 2)
    assert remaining(shell) == {"new"}
    shell.pass_time(RETENTION_MS // 2)
    assert remaining(shell) == set()
    assert groups(shell) == set()


def test_offsets_of_a_group_go_by_when_it_became_empty() -> None:
    shell = Shell(SETTINGS)
    joined = stable_group(shell, subscription("orders"))
    commit(shell, "orders", member_id=joined.member_id, generation=1)
    for _ in range(8):  # twice as long as an offset lives
        shell.pass_time(RETENTION_MS // 4)
        commit(shell, member_id=joined.member_id, generation=1)
    shell.decide(LeaveGroup(group="g", members=(LeavingMember(member_id=joined.member_id),)))
    shell.pass_time(RETENTION_MS - CHECK_MS - 1)
    assert remaining(shell) == {"orders"}
    shell.restart()  # the time of becoming empty is stored
    shell.pass_time(CHECK_MS)
    assert remaining(shell) == {"orders"}
    shell.pass_time(CHECK_MS)
    assert remaining(shell) == set()
    assert groups(shell) == set()


def test_a_stable_group_keeps_what_it_reads_and_drops_what_it_read_once() -> None:
    shell = Shell(SETTINGS)
    joined = stable_group(shell, subscription("orders"))
    commit(shell, "orders", "payments", member_id=joined.member_id, generation=1)
    for _ in range(5):
        shell.pass_time(RETENTION_MS // 4)
        commit(shell, member_id=joined.member_id, generation=1)
    assert remaining(shell) == {"orders"}
    shell.restart()
    shell.pass_time(CHECK_MS)
    assert remaining(shell) == {"orders"}


def test_nothing_expires_during_a_rebalance() -> None:
    """KAFKA-13636: the group subscribes to another topic, and the rebalance takes longer than the retention."""
    shell = Shell(replace(SETTINGS, offsets_retention_ms=CHECK_MS))
    joined = join(shell, subscription("orders"))
    assert joined.generation == 1
    shell.ask(SyncGroup(group="g", member_id=joined.member_id, generation=1), SyncGroupReply)
    commit(shell, "orders", "payments", member_id=joined.member_id, generation=1)
    newcomer = JoinGroup(
        group="g",
        client_id="d",
        session_timeout_ms=1_800_000,
        rebalance_timeout_ms=1_800_000,
        protocol_type="consumer",
        protocols=(JoinProtocol(name="range", metadata=subscription("payments")),),
        unique_id="2",
        needs_member_id=False,
    )
    shell.wait(newcomer)
    shell.pass_time(10 * CHECK_MS)
    assert remaining(shell) == {"orders", "payments"}


def test_members_that_do_not_say_what_they_read_keep_everything() -> None:
    shell = Shell(SETTINGS)
    joined = stable_group(shell, b"\x00")
    commit(shell, "orders", member_id=joined.member_id, generation=1)
    for _ in range(5):
        shell.pass_time(RETENTION_MS // 4)
        commit(shell, member_id=joined.member_id, generation=1)
    assert remaining(shell) == {"orders"}
    partitions = (TopicPartition("orders", 0),)
    reply = shell.ask(OffsetDelete(group="g", partitions=partitions), OffsetDeleteReply)
    assert [result.error_code for result in reply.results] == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]


def test_an_old_commit_without_its_own_expiry_is_not_expired() -> None:
    """KAFKA-8069: version 1 of the record has a field for it, in which -1 means none, and not a time long past."""
    shell = Shell(SETTINGS)
    shell.now_ms = 10 * RETENTION_MS
    value = struct.pack(">hqhqq", 1, 7, 0, shell.now_ms, -1)
    shell.log.append(LogEntry(encode_key(OffsetCommitKey("g", "orders", 0)), value, -1))
    shell.restart()
    shell.pass_time(RETENTION_MS - 1)
    assert remaining(shell) == {"orders"}
    shell.pass_time(1)
    assert remaining(shell) == set()


def test_a_client_may_have_asked_for_its_own_retention() -> None:
    shell = Shell(SETTINGS)
    offsets = (OffsetToCommit(topic="orders", partition=0, offset=1),)
    shell.decide(OffsetCommit(group="g", retention_time_ms=2 * CHECK_MS, offsets=offsets))
    shell.restart()
    shell.pass_time(2 * CHECK_MS - 1)
    assert remaining(shell) == {"orders"}
    shell.pass_time(1)
    assert remaining(shell) == set()


def test_a_client_that_asks_for_all_time_gets_all_that_a_record_can_hold() -> None:
    shell = Shell(SETTINGS)
    shell.now_ms = 10 * RETENTION_MS
    offsets = (OffsetToCommit(topic="orders", partition=0, offset=1),)
    shell.decide(OffsetCommit(group="g", retention_time_ms=2**63 - 1, offsets=offsets))
    shell.restart()
    shell.pass_time(10 * RETENTION_MS)
    assert remaining(shell) == {"orders"}


def test_consumer_groups_keep_what_they_read() -> None:
    shell = Shell(SETTINGS)
    shell.set_topics(orders=1)
    commit(shell, "orders", "payments")
    beat = ConsumerGroupHeartbeat(
        group="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1,
        subscribed_topic_names=("orders",),
        owned_partitions=(),
    )
    shell.ask(beat, ConsumerGroupHeartbeatReply)
    while shell.now_ms < RETENTION_MS + CHECK_MS:
        shell.pass_time(40_000)
        shell.ask(ConsumerGroupHeartbeat(group="g", member_id="m", member_epoch=1), ConsumerGroupHeartbeatReply)
    assert remaining(shell) == {"orders"}


def test_a_quiet_consumer_group_may_restart() -> None:
    """Its last commit is long ago, for nothing came to its topic."""
    shell = Shell(SETTINGS)
    shell.set_topics(orders=1)
    commit(shell, "orders")
    member = ConsumerGroupHeartbeat(group="g", member_id="m", member_epoch=1)
    joins = replace(
        member,
        member_epoch=0,
        rebalance_timeout_ms=1,
        subscribed_topic_names=("orders",),
        owned_partitions=(),
    )
    shell.ask(joins, ConsumerGroupHeartbeatReply)
    while shell.now_ms < 2 * RETENTION_MS:
        shell.pass_time(40_000)
        shell.ask(member, ConsumerGroupHeartbeatReply)
    shell.ask(replace(member, member_epoch=-1), ConsumerGroupHeartbeatReply)
    shell.pass_time(RETENTION_MS - CHECK_MS)
    assert remaining(shell) == {"orders"}
    shell.restart()
    shell.pass_time(RETENTION_MS - CHECK_MS)
    assert remaining(shell) == {"orders"}
    shell.pass_time(2 * CHECK_MS)
    assert remaining(shell) == set()
    assert groups(shell) == set()


def test_offsets_of_deleted_partitions_go_at_once() -> None:
    shell = Shell(SETTINGS)
    commit(shell, "orders", "payments")
    commit(shell, "orders", group="h")
    shell.decide(PartitionsDeleted(partitions=(TopicPartition("orders", 0),)))
    assert remaining(shell) == {"payments"}
    assert remaining(shell, "h") == set()
