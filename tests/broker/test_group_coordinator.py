"""What the coordinator decides is in the log before it is told, timers fire, who loses the leadership sends all on."""

from __future__ import annotations

import pytest
from tests.broker.led_partition import NAME, ORDERS, LedPartition, commit_of, errors_of

from strandline.groups.commands import (
    DeleteGroups,
    Heartbeat,
    JoinGroup,
    JoinProtocol,
    ListGroups,
    OffsetCommit,
    OffsetFetch,
    OffsetToCommit,
    SyncGroup,
)
from strandline.groups.replies import JoinGroupReply, ListGroupsReply
from strandline.model.failures import ErrorCode
from strandline.records.batch import split_batches
from strandline.replication.settings import ReplicationSettings

SESSION_MS = 10_000


def join(member_id: str = "", unique_id: str = "1", session_timeout_ms: int = SESSION_MS) -> JoinGroup:
    return JoinGroup(
        group="g",
        member_id=member_id,
        client_id="c",
        session_timeout_ms=session_timeout_ms,
        protocol_type="consumer",
        protocols=(JoinProtocol(name="range"),),
        unique_id=unique_id,
        needs_member_id=False,
    )


def joining(led: LedPartition, unique_id: str = "1") -> list[JoinGroupReply]:
    replies = led.ask("g", join(unique_id=unique_id))
    led.host.pass_time(0)  # the delay before a first rebalance is none, on a machine of its own
    return replies


def member_of(led: LedPartition) -> JoinGroupReply:
    """The only member of a stable group."""
    (joined,) = joining(led)
    assert joined.error_code is ErrorCode.NONE
    sync = SyncGroup(group="g", member_id=joined.member_id, generation=joined.generation)
    (synced,) = led.ask("g", sync)
    assert synced.error_code is ErrorCode.NONE
    return joined


def beat(led: LedPartition, joined: JoinGroupReply) -> ErrorCode:
    (reply,) = led.ask("g", Heartbeat(group="g", member_id=joined.member_id, generation=joined.generation))
    return reply.error_code


def led_partition() -> LedPartition:
    led = LedPartition()
    led.lead()
    return led


# Before it is told.


def test_a_decision_is_one_batch() -> None:
    led = led_partition()
    offsets = tuple(OffsetToCommit(topic="orders", partition=index, offset=index) for index in range(3))
    led.ask("g", OffsetCommit(group="g", offsets=offsets))
    led.commit(5)
    (first, second) = split_batches(led.log.read(0, 10_000).read())
    assert [batch[57:61] for batch in (first, second)] == [b"\0\0\0\3", b"\0\0\0\1"]  # records in them


def test_nobody_is_told_what_is_not_committed() -> None:
    """A read waits too: it may have seen the write."""
    led = LedPartition(replicas=(1, 2))
    led.lead()
    committed, fetched = led.commit(7), led.fetch()
    led.host.turn()
    assert (committed, fetched) == ([], [])
    replicate(led)
    assert errors_of(committed) == [ErrorCode.NONE]
    assert fetched[0].offsets[0].offset == 7
    assert led.partition.watcher_count == 0


def replicate(led: LedPartition) -> None:
    led.partition.replicate()
    led.host.run_events()


def test_answers_leave_in_order() -> None:
    led = LedPartition(replicas=(1, 2))
    led.lead()
    told: list[int] = []
    for number in range(5):
        led.coordinator.ask("g", commit_of(number), lambda _, number=number: told.append(number))  # type: ignore[misc]
    replicate(led)
    assert told == [0, 1, 2, 3, 4]


def test_replicas_that_do_not_come_in_time() -> None:
    """Nobody knows whether it will be committed: the member tries again."""
    led = LedPartition(replicas=(1, 2), offsets_commit_timeout_ms="500")
    led.lead()
    committed = led.commit(7)
    led.host.pass_time(499)
    assert committed == []
    led.host.pass_time(1)
    assert errors_of(committed) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    replicate(led)
    assert len(committed) == 1
    assert led.committed() == 7


def test_a_log_that_takes_nothing() -> None:
    led = LedPartition(replicas=(1, 2))
    led.lead()
    led.partition.lead(replicas=(1, 2), isr=(1,))
    assert errors_of(led.commit(7)) == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    led.partition.lead(replicas=(1, 2))
    assert led.committed() == -1
    assert led.log.log_end_offset == 0


def test_a_disk_that_fails() -> None:
    led = led_partition()
    led.commit(1)
    led.disk.fail_next("append", path_contains=".log")
    assert errors_of(led.commit(7)) == [ErrorCode.NOT_COORDINATOR]
    assert led.fetch()[0].error_code is ErrorCode.NOT_COORDINATOR
    led.host.run_events()
    assert errors_of(led.commit(8)) == [ErrorCode.NOT_COORDINATOR]
    assert led.host.set_timers == 0  # it does not try for ever


def test_a_disk_that_fails_while_replicas_are_waited_for() -> None:
    led = LedPartition(replicas=(1, 2))
    led.lead()
    committed = led.commit(7)
    led.log.failed(OSError("gone"))
    led.partition.has_failed()
    led.host.run_events()
    assert errors_of(committed) == [ErrorCode.NOT_COORDINATOR]


def test_a_commit_larger_than_the_log_takes() -> None:
    led = led_partition()
    offsets = tuple(
        OffsetToCommit(topic="orders", partition=index, offset=index, metadata="m" * 4000) for index in range(300)
    )
    assert set(errors_of(led.ask("g", OffsetCommit(group="g", offsets=offsets)))) == {
        ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    }
    assert led.committed() == -1


def test_a_group_with_very_many_offsets_can_be_deleted() -> None:
    """Its tombstones need more than one batch."""
    led = led_partition()
    topic = "t" * 200
    for start in range(0, 12_000, 2000):
        offsets = [OffsetToCommit(topic=topic, partition=start + index, offset=1) for index in range(2000)]
        led.ask("g", OffsetCommit(group="g", offsets=tuple(offsets)))
    written = led.log.size_bytes
    (reply,) = led.ask("g", DeleteGroups(groups=("g",)))
    assert [group.error_code for group in reply.groups] == [ErrorCode.NONE]
    assert led.log.size_bytes - written > led.log.settings.max_message_bytes
    (left,) = led.ask("g", OffsetFetch(group="g"))
    assert left.offsets == ()


# Time.


def test_a_silent_member_is_put_out() -> None:
    led = led_partition()
    joined = member_of(led)
    led.host.pass_time(SESSION_MS - 1)
    assert beat(led, joined) is ErrorCode.NONE
    led.host.pass_time(SESSION_MS - 1)
    assert beat(led, joined) is ErrorCode.NONE
    led.host.pass_time(SESSION_MS)
    assert beat(led, joined) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("leap_ms", [-3_600_000, 3_600_000])
def test_sessions_go_by_time_that_passes_not_by_the_clock_on_the_wall(leap_ms: int) -> None:
    """KAFKA-8803: a clock that is set back must not keep the dead alive, nor one set forward kill the living."""
    led = led_partition()
    joined = member_of(led)
    led.host.clock_leap_ms += leap_ms
    led.host.pass_time(SESSION_MS // 2)
    assert beat(led, joined) is ErrorCode.NONE
    led.host.clock_leap_ms -= leap_ms
    led.host.pass_time(SESSION_MS)
    assert beat(led, joined) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_timer_whose_records_cannot_be_written_fires_again() -> None:
    led = led_partition()
    joined = member_of(led)
    led.partition.settings_changed(ReplicationSettings(min_insync_replicas=2))
    led.partition.lead(replicas=(1, 2), isr=(1,))
    led.host.pass_time(SESSION_MS)
    led.partition.lead()
    led.host.pass_time(1_000)
    assert beat(led, joined) is ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_expire() -> None:
    led = LedPartition(offsets_retention_minutes="1", offsets_retention_check_interval_ms="1000")
    led.lead()
    led.commit(7)
    led.host.pass_time(59_000)
    assert led.committed() == 7
    led.host.pass_time(2_000)
    assert led.committed() == -1


# Leadership.


def test_whoever_waits_is_sent_to_the_new_leader() -> None:
    led = LedPartition(replicas=(1, 2))
    led.lead()
    (first,) = joining(led)
    waiting = joining(led, "2")  # for the first member to come again
    uncommitted = led.commit(7, group="other")
    led.partition.stop()
    led.coordinator.led.resigned(led.partition)
    assert first.error_code is ErrorCode.NONE
    assert [reply.error_code for reply in waiting] == [ErrorCode.NOT_COORDINATOR]
    assert errors_of(uncommitted) == [ErrorCode.NOT_COORDINATOR]
    assert led.host.set_timers == 0
    assert led.partition.watcher_count == 0


def test_the_next_leader_knows_the_members() -> None:
    led = led_partition()
    joined = member_of(led)
    led.coordinator.led.close()
    led.start()
    led.lead(leader_epoch=1)
    led.host.settle()
    assert beat(led, joined) is ErrorCode.NONE


def test_an_append_after_the_leadership_was_lost_is_refused() -> None:
    """The epoch has moved on, and nobody has told the coordinator yet."""
    led = led_partition()
    led.partition.stop()
    assert errors_of(led.commit(7)) == [ErrorCode.NOT_COORDINATOR]
    assert led.log.log_end_offset == 0


def test_partitions_of_other_topics_mean_nothing() -> None:
    led = led_partition()
    led.partition.name = ORDERS
    led.coordinator.led.resigned(led.partition)
    led.coordinator.led.became_leader(led.partition)
    led.partition.name = NAME
    assert errors_of(led.commit(7)) == [ErrorCode.NONE]


# News.


def test_the_offsets_of_a_deleted_topic_are_forgotten() -> None:
    led = led_partition()
    led.commit(7)
    led.image.remove_topic("orders")
    led.put_topic("orders", 2)
    assert led.committed() == -1


def test_a_topic_that_grows_keeps_its_offsets() -> None:
    led = led_partition()
    led.commit(7)
    led.put_topic("orders", 1, partitions=3)
    assert led.committed() == 7


def test_a_topic_that_is_another_one_now_has_no_offsets() -> None:
    led = led_partition()
    led.commit(7)
    led.put_topic("orders", 2)
    assert led.committed() == -1


def test_settings_change_while_it_runs(caplog: pytest.LogCaptureFixture) -> None:
    led = led_partition()
    led.configuration.set_dynamic(default={"group.min.session.timeout.ms": "9000"}, broker={})
    (refused,) = led.ask("g", join(session_timeout_ms=8_000))
    assert refused.error_code is ErrorCode.INVALID_SESSION_TIMEOUT
    led.configuration.set_dynamic(default={"group.min.session.timeout.ms": "what"}, broker={})
    assert "stay as they were" in caplog.text
    (refused,) = led.ask("g", join(session_timeout_ms=8_000))
    assert refused.error_code is ErrorCode.INVALID_SESSION_TIMEOUT


def test_groups_are_listed() -> None:
    led = led_partition()
    listed: list[ListGroupsReply] = []
    led.coordinator.list_groups(ListGroups(), listed.append)
    led.commit(7, group="a")
    led.commit(7, group="b")
    led.coordinator.list_groups(ListGroups(), listed.append)
    assert [[group.group for group in reply.groups] for reply in listed] == [[], ["a", "b"]]
