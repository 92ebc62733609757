"""What a coordinator decides is told when it is committed and not before; markers wait for as long as it takes."""

from __future__ import annotations

from tests.broker.led_transaction_partition import NAME, LedTransactionPartition

from strandline.model.failures import ErrorCode

LOG_FILE = f"/{NAME}/00000000000000000000.log"


def led_partition() -> LedTransactionPartition:
    led = LedTransactionPartition()
    led.lead()
    return led


def test_nobody_hears_of_a_decision_before_its_commit() -> None:
    led = LedTransactionPartition(replicas=(1, 2))
    led.lead()
    answers = led.init()
    assert answers == []
    led.replicate()
    assert [(answer.error_code, answer.producer_epoch) for answer in answers] == [(ErrorCode.NONE, 0)]
    led.begin()
    led.replicate()
    ended = led.end()
    assert (ended, led.sent) == ([], [])
    led.replicate()
    assert ended == [ErrorCode.NONE]
    assert len(led.sent) == 1


def test_a_reply_is_given_up_and_its_markers_are_not() -> None:
    """A marker that is not sent would leave a decided transaction open for ever."""
    led = LedTransactionPartition(replicas=(1, 2), offsets_commit_timeout_ms="500")
    led.lead()
    led.init()
    led.replicate()
    led.begin()
    led.replicate()
    ended = led.end()
    led.host.pass_time(60_000)
    assert ended == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert led.sent == []
    led.replicate()
    assert len(led.sent) == 1
    led.write_markers()
    led.replicate()
    assert led.described().state == "CompleteCommit"


def test_markers_are_sent_until_they_are_written() -> None:
    led = led_partition()
    led.init()
    led.begin()
    led.end()
    for _ in range(5):
        led.write_markers(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        assert led.sent == []
        led.host.pass_time(10_000)
        assert len(led.sent) == 1
    led.write_markers()
    assert led.described().state == "CompleteCommit"
    led.host.pass_time(60_000)
    assert led.sent == []


def test_an_epoch_is_not_raised_by_a_write_that_failed() -> None:
    """Row 50, KAFKA-9666, 7519: fewer replicas in sync than the coordinator needs."""
    led = LedTransactionPartition(replicas=(1, 2))
    led.lead()
    first = led.init()
    led.replicate()
    led.partition.lead(replicas=(1, 2), isr=(1,))
    for _ in range(3):
        (refused,) = led.init()
        assert refused.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    led.partition.lead(replicas=(1, 2))
    again = led.init()
    led.replicate()
    assert (first[0].producer_epoch, again[0].producer_epoch) == (0, 1)


def test_another_leader_sends_the_markers_again() -> None:
    """And the one before is deaf: what it hears of its markers changes nothing."""
    led = led_partition()
    led.init()
    led.begin()
    led.end()
    ((marker, written),) = led.sent
    led.coordinator.led.resigned(led.partition)
    written(marker.all_partitions(ErrorCode.NONE))
    led.sent = []
    led.lead(leader_epoch=1)
    led.host.settle()
    assert [(each.producer_id, each.coordinator_epoch) for each, _ in led.sent] == [(0, 1)]
    assert led.described().state == "PrepareCommit"
    led.write_markers()
    assert led.described().state == "CompleteCommit"


def test_what_waits_is_told_to_look_elsewhere() -> None:
    led = LedTransactionPartition(replicas=(1, 2))
    led.lead()
    answers = led.init()
    led.coordinator.led.resigned(led.partition)
    assert [answer.error_code for answer in answers] == [ErrorCode.NOT_COORDINATOR]
    assert [answer.error_code for answer in led.init()] == [ErrorCode.NOT_COORDINATOR]
    assert led.host.set_timers == 0


def test_while_it_loads_clients_are_told_to_wait() -> None:
    led = led_partition()
    led.init()
    led.begin()
    led.lead(leader_epoch=1)
    assert led.init()[0].error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    led.host.settle()
    assert led.described().state == "Ongoing"


def test_a_record_that_has_rotted_is_passed_over() -> None:
    led = led_partition()
    led.init()
    led.begin()
    position = led.log.segments.active.size_bytes - 1
    led.disk.flip_bit(LOG_FILE, position, 3)
    led.lead(leader_epoch=1)
    led.host.settle()
    assert led.described().state == "Empty"


def test_a_disk_that_fails() -> None:
    led = led_partition()
    led.init()
    led.disk.fail_next("append", path_contains=".log")
    assert led.init()[0].error_code is ErrorCode.NOT_COORDINATOR
    led.host.run_events()
    assert led.init()[0].error_code is ErrorCode.NOT_COORDINATOR
    assert led.host.set_timers == 0


def test_time_is_up_by_a_clock_that_was_set_back() -> None:
    """Row 51, KAFKA-8803."""
    led = led_partition()
    led.init()
    led.begin()
    led.host.clock_leap_ms = -3_600_000
    led.host.pass_time(10_000)
    assert led.sent == [], "its time counts from when that was seen"
    led.host.pass_time(10_000)
    assert [marker.is_commit for marker, _ in led.sent] == [False]


def test_a_clock_that_was_set_back_does_not_hurry_anybody() -> None:
    led = led_partition()
    led.host.clock_leap_ms = -3_600_000
    led.init()
    led.begin()
    led.host.pass_time(9_000)
    assert led.sent == []
