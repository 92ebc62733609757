"""A leader reads the groups of its partition from the log: in chunks, in a thread, and without being stopped by rot."""

from __future__ import annotations

import logging
from functools import partial

import pytest
from tests.broker.led_partition import NAME, LedPartition, errors_of, offset_batch

from strandline.broker.coordinator_loading import Loading, LoadingQueue
from strandline.groups.commands import Heartbeat, ListGroups
from strandline.groups.replies import ListGroupsReply
from strandline.log.log import Log
from strandline.model.failures import ErrorCode
from strandline.records.batch import Buffer, split_batches
from strandline.records.builder import build_batch
from strandline.records.control import build_marker
from strandline.records.heads import head_of
from strandline.records.record import Record

LOG_FILE = f"/{NAME}/00000000000000000000.log"


def marker(producer_id: int, *, is_commit: bool) -> bytearray:
    return build_marker(
        producer_id=producer_id, producer_epoch=0, is_commit=is_commit, coordinator_epoch=0, timestamp=1
    )


def test_what_an_earlier_leader_wrote_is_there() -> None:
    led = LedPartition()
    led.write(offset_batch(3, 5), offset_batch(8, group="other"))
    led.lead()
    led.host.settle()
    assert (led.committed("g"), led.committed("other")) == (5, 8)


def test_an_empty_partition_serves_at_once() -> None:
    led = LedPartition()
    led.lead()
    assert errors_of(led.commit(7)) == [ErrorCode.NONE]
    assert led.committed() == 7


def test_meanwhile_clients_are_told_to_wait() -> None:
    led = LedPartition()
    led.write(offset_batch(3))
    led.lead()
    assert led.coordinator.led.is_loading
    assert errors_of(led.commit(7)) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    (fetched,) = led.fetch()
    assert fetched.error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    (beat,) = led.ask("g", Heartbeat(group="g", member_id="m", generation=1))
    assert beat.error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    listed: list[ListGroupsReply] = []
    led.coordinator.list_groups(ListGroups(), listed.append)
    assert listed[0].error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    led.host.settle()
    assert not led.coordinator.led.is_loading
    assert led.committed() == 3


@pytest.mark.parametrize("buffer_size", ["1", "150", "100000"])
def test_chunks_of_any_size_and_batches_larger_than_them(buffer_size: str) -> None:
    """KAFKA-7286: a batch larger than the buffer must not be asked for again and again."""
    led = LedPartition(offsets_load_buffer_size=buffer_size)
    led.write(*(offset_batch(number, number + 100, group=f"g{number}") for number in range(20)))
    led.lead()
    led.host.settle()
    assert [led.committed(f"g{number}") for number in range(20)] == [number + 100 for number in range(20)]


def test_a_log_whose_records_are_gone_ends_before_its_last_offset() -> None:
    """KAFKA-9065: compaction leaves offsets without records; they are not waited for."""
    led = LedPartition()
    led.write(offset_batch(3))
    led.log.roll(led.host.now_ms())
    led.log.truncate_fully_and_start_at(1, now_ms=led.host.now_ms())
    led.log.append_replicated(offset_batch_at(5, 4), now_ms=led.host.now_ms())
    led.lead()
    led.host.settle()
    assert led.committed() == 4


def offset_batch_at(base_offset: int, offset: int) -> bytes:
    batch = offset_batch(offset)
    batch[0:8] = base_offset.to_bytes(8, "big")
    return bytes(batch)


def test_offsets_of_transactions_count_from_their_marker_on() -> None:
    """SPEC P3: committed ones are there, aborted ones are not, open ones are neither here nor there (KIP-447)."""
    led = LedPartition()
    led.write(
        offset_batch(1, group="committed", producer_id=7),
        marker(7, is_commit=True),
        offset_batch(2, group="aborted", producer_id=8),
        marker(8, is_commit=False),
        offset_batch(3, group="open", producer_id=9),
    )
    led.lead()
    led.host.settle()
    assert [led.committed(group) for group in ("committed", "aborted", "open")] == [1, -1, -1]
    (stable,) = led.fetch("open", require_stable=True)
    assert stable.offsets[0].error_code is ErrorCode.UNSTABLE_OFFSET_COMMIT


def test_a_rotten_batch_is_passed_over_and_told(caplog: pytest.LogCaptureFixture) -> None:
    led = LedPartition()
    first, second, third = offset_batch(1, group="a"), offset_batch(2, group="b"), offset_batch(3, group="c")
    led.write(first, second, third)
    led.disk.flip_bit(LOG_FILE, len(first) + len(second) - 3, 0)
    led.lead()
    led.host.settle()
    assert [led.committed(group) for group in "abc"] == [1, -1, 3]
    assert "offsets 1 to 1: CRC" in caplog.text


def test_a_record_that_cannot_be_read_is_passed_over_and_told(caplog: pytest.LogCaptureFixture) -> None:
    led = LedPartition()
    unreadable = [Record(0, 1, b"\0\1\0\5", b"\0\0"), Record(1, 1, b"\0\x63of another kind", b"x")]
    led.write(build_batch(unreadable), offset_batch(4))
    led.lead()
    led.host.settle()
    assert led.committed() == 4
    assert "offset 0" in caplog.text
    assert "offset 1" not in caplog.text  # a kind of record that newer brokers write


def test_a_partition_that_is_lost_while_it_is_loaded() -> None:
    led = LedPartition()
    led.write(offset_batch(3))
    led.lead()
    led.partition.stop()
    led.coordinator.led.resigned(led.partition)
    led.host.settle()
    assert errors_of(led.commit(7)) == [ErrorCode.NOT_COORDINATOR]
    led.lead(leader_epoch=2)
    led.host.settle()
    assert led.committed() == 3


def test_led_again_before_the_first_loading_has_ended() -> None:
    """KAFKA-9307: nothing of the older shard must be found in the newer."""
    led = LedPartition()
    led.write(offset_batch(3), offset_batch(1, group="other"))
    led.lead()
    led.log.append_replicated(offset_batch_at(2, 9), now_ms=led.host.now_ms())
    led.lead(leader_epoch=1)
    led.host.settle()
    assert (led.committed(), led.committed("other")) == (9, 1)


def test_a_disk_that_fails_while_loading(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    led = LedPartition()
    led.write(offset_batch(3))
    led.lead()
    led.disk.fail_next("read", path_contains=".log")
    led.host.settle()
    assert errors_of(led.commit(7)) == [ErrorCode.NOT_COORDINATOR]
    assert "could not be loaded" in caplog.text
    assert all(record.exc_info is None for record in caplog.records), "a disk that fails is no bug of ours"
    assert led.log.failure is not None


def zero_framing(led: LedPartition, position: int) -> None:
    led.log.segments.active.file.write(position, bytes(20))


@pytest.mark.parametrize("rotten", [0, 1])
def test_a_partition_whose_framing_has_rotted_keeps_no_other_from_loading(
    rotten: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Found when the chunk is looked up, or in the middle of one."""
    led = LedPartition()
    batches = [offset_batch(3), offset_batch(4, group="other")]
    led.write(*batches)
    zero_framing(led, 0 if rotten == 0 else len(batches[0]))
    done: list[tuple[str, bool]] = []  # whether they were loaded
    queue = LoadingQueue(led.host, 10_000)
    healthy = LedPartition()
    healthy.write(offset_batch(3))
    for name, partition in (("rotten", led.partition), ("next", healthy.partition)):
        queue.load(Loading(partition, name, lambda data, _: replay_nothing(data), partial(heard, done, name)))
    led.host.settle()
    assert done == [("rotten", False), ("next", True)]
    assert all(record.exc_info is None for record in caplog.records), "rot is no bug of ours"


def heard(done: list[tuple[str, bool]], name: str, fault: str | None) -> None:
    done.append((name, fault is None))


def replay_nothing(data: Buffer) -> int | None:
    return max((head_of(batch).next_offset for batch in split_batches(data)), default=None)


@pytest.mark.parametrize("rotten", [0, 1])
def test_a_partition_whose_framing_has_rotted_is_not_served_and_told_once(
    rotten: int, caplog: pytest.LogCaptureFixture
) -> None:
    """As in Kafka: what lies behind the rot could be anything. The log has the file, the position and what to do."""
    led = LedPartition()
    batches = [offset_batch(3), offset_batch(4, group="other")]
    led.write(*batches)
    zero_framing(led, 0 if rotten == 0 else len(batches[0]))
    led.lead()
    led.host.settle()
    for _ in range(3):
        assert errors_of(led.commit(7)) == [ErrorCode.NOT_COORDINATOR]
    fault = led.coordinator.led.fault_of(0)
    assert fault is not None
    (told,) = caplog.messages
    for sentence in (fault, told):
        assert "00000000000000000000.log: " in sentence
        assert "position" in sentence
    assert f"strandline log check /{NAME}" in told
    led.coordinator.led.resigned(led.partition)
    assert led.coordinator.led.fault_of(0) is None


def test_a_mistake_of_ours_keeps_no_other_from_loading_and_is_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    led = LedPartition()
    led.write(offset_batch(3))
    monkeypatch.setattr(Log, "read", None)
    led.lead()
    led.host.settle()
    assert errors_of(led.commit(7)) == [ErrorCode.NOT_COORDINATOR]
    assert any(record.exc_info for record in caplog.records)
    monkeypatch.undo()
    led.lead(leader_epoch=1)
    led.host.settle()
    assert led.committed() == 3


def test_a_topic_that_goes_while_its_offsets_are_loaded() -> None:
    led = LedPartition()
    led.write(offset_batch(3))
    led.lead()
    led.image.remove_topic("orders")
    led.host.settle()
    assert led.committed() == -1


def test_one_partition_after_another() -> None:
    """Threads that compete would only slow one another down, and the event loop with them."""
    led = LedPartition()
    led.write(offset_batch(3))
    led.lead()
    led.host.run_events()
    led.lead(leader_epoch=1)
    for _ in ("the first, which is cancelled", "the second"):
        led.host.run_events()
        assert led.host.waiting_threads == 1
        assert led.coordinator.led.is_loading
        led.host.run_one_thread()
    led.host.run_events()
    assert led.host.waiting_threads == 0
    assert not led.coordinator.led.is_loading
