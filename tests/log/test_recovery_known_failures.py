"""Failures that other logs have had (reliability.md section 3, storage and recovery), each by its number."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch
from uuid import UUID

import pytest
from tests.log.log_checks import assert_derived, producers_of, stored_batches
from tests.log.sample_log import (
    FOLDER,
    NOW_MS,
    SETTINGS,
    STEPS,
    Step,
    append,
    disk_with_folder,
    idempotent,
    open_sample,
    plain,
    write_sample,
)

from strandline.log import checkpoints, replay
from strandline.log.filesystem import read_whole
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.log.producer_snapshots import ProducerSnapshots, decode_snapshot
from strandline.log.producer_state import ProducerState
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk


def test_kafka_3968_a_flushed_segment_keeps_its_name() -> None:
    """Its folder is synced with it: after power loss there is no durable file without a name."""
    disk = disk_with_folder()
    log = write_sample(disk)
    assert len(log.segments) > 2
    log.flush(NOW_MS)
    for name, found in disk.crash_states(1):
        again = open_sample(found, recovery_point=log.recovery_point)
        assert again.log_end_offset == log.log_end_offset, name


@pytest.mark.parametrize("kind", ["offsets", "epochs", "snapshot"])
def test_kafka_9892_a_small_file_is_old_or_new_after_a_crash(kind: str) -> None:
    """KAFKA-9892, KAFKA-15312, KAFKA-16541: aside, synced, renamed, folder synced; never empty, never mixed."""
    orders = TopicPartition("orders", 0)
    path = f"{FOLDER}/{'00000000000000000003.snapshot' if kind == 'snapshot' else kind}"

    def write(disk: SimulatedDisk, number: int) -> None:
        if kind == "offsets":
            checkpoints.write_offsets(disk, path, {orders: number})
        elif kind == "epochs":
            checkpoints.write_leader_epochs(disk, path, [(number, number)])
        else:
            state = ProducerState()
            state.map_end_offset = 3
            ProducerSnapshots(disk, FOLDER).take(state, durable=True)

    def run(disk: SimulatedDisk, written: list[int]) -> None:
        for number in (1, 22):
            write(disk, number)
            written.append(number)

    def verify(disk: SimulatedDisk, written: list[int]) -> None:
        if not disk.exists(path):
            assert not written
        elif kind == "offsets":
            assert checkpoints.read_offsets(disk, path)[orders] in {*written[-1:], 1 if not written else 22}
        elif kind == "epochs":
            assert checkpoints.read_leader_epochs(disk, path)[0].epoch in {*written[-1:], 1 if not written else 22}
        else:
            decode_snapshot(read_whole(disk, path))

    run_with_power_loss_at_every_step(run, verify, make_oracle=list[int], make_disk=disk_with_folder)


def _fail_sync(disk: SimulatedDisk, log: Log) -> None:
    disk.fail_next("sync", path_contains=".log")
    log.flush(NOW_MS)


def _fail_append(disk: SimulatedDisk, log: Log) -> None:
    disk.fail_next("append", path_contains=".log")
    append(log, STEPS[1])


def _fill_disk(disk: SimulatedDisk, log: Log) -> None:
    disk.space_bytes_max = disk.used_bytes + 30  # the middle of a batch
    append(log, STEPS[1])


def _fail_epoch(disk: SimulatedDisk, log: Log) -> None:
    disk.fail_next("rename", path_contains="leader-epoch")
    append(log, Step(plain(1), 9))


def _fail_read(disk: SimulatedDisk, log: Log) -> None:
    disk.fail_next("read", path_contains=".log")
    log.read(0, 10)


def _fail_truncation(disk: SimulatedDisk, log: Log) -> None:
    disk.fail_next("truncate", path_contains=".log")
    log.truncate_to(1, now_ms=NOW_MS)


FAILURES = [_fail_sync, _fail_append, _fill_disk, _fail_epoch, _fail_read, _fail_truncation]


@pytest.mark.parametrize("fail", FAILURES, ids=lambda fail: fail.__name__)
def test_kafka_10778_the_first_failure_fences_the_directory(fail: Callable[[SimulatedDisk, Log], None]) -> None:
    """Nothing is retried, a failed fsync least of all (fsyncgate); other directories go on (SPEC L10)."""
    disk = SimulatedDisk()
    directories = LogDirectories.open(disk, ["/one", "/two"], lambda _: SETTINGS, now_ms=NOW_MS)
    first, second, third = (directories.create(TopicPartition("orders", n), now_ms=NOW_MS) for n in range(3))
    assert [first.directory, second.directory, third.directory] == ["/one/orders-0", "/two/orders-1", "/one/orders-2"]
    append(first, STEPS[0])
    append(third, STEPS[0])
    third.flush(NOW_MS)
    with pytest.raises(StorageFailed):
        fail(disk, first)
    operations = disk.operations
    disk.space_bytes_max = None
    for refused in (
        lambda: append(first, STEPS[3]),
        lambda: first.flush(NOW_MS),
        lambda: first.read(0, 1),
        lambda: first.truncate_to(0, now_ms=NOW_MS),
        lambda: first.close(NOW_MS),
        lambda: directories.directories[0].write_recovery_points(),
        lambda: append(third, STEPS[3]),
        lambda: third.flush(NOW_MS),
    ):
        with pytest.raises(StorageFailed):
            refused()
    assert disk.operations == operations, "something was written after the failure"
    assert [each.path for each in directories.online()] == ["/two"]
    append(second, STEPS[0])
    directories.close(now_ms=NOW_MS)
    again = LogDirectories.open(disk.kill(), ["/one", "/two"], lambda _: SETTINGS, now_ms=NOW_MS)
    assert [each.was_clean for each in again.directories] == [False, True]


@pytest.mark.parametrize("fail", [_fail_sync, _fail_append, _fill_disk], ids=lambda fail: fail.__name__)
def test_kafka_10778_after_the_failure_a_restart_finds_a_valid_prefix(
    fail: Callable[[SimulatedDisk, Log], None],
) -> None:
    disk = disk_with_folder()
    log = open_sample(disk)
    append(log, STEPS[0])
    log.flush(NOW_MS)
    append(log, STEPS[3])
    with pytest.raises(StorageFailed):
        fail(disk, log)
    disk.space_bytes_max = None
    for _, found in [("killed", disk.kill()), *disk.crash_states(7)]:
        again = open_sample(found, recovery_point=2)
        assert_derived(again, stored_batches(found, FOLDER))
        assert again.log_end_offset >= 2
        append(again, STEPS[1])


def test_kafka_4099_timestamps_far_away_do_not_roll_a_segment_each() -> None:
    """Rolling by time goes by the first batch of the segment, so one straggler does not make a segment of its own
    each time; a leap ahead rolls once."""
    settings = SETTINGS.with_properties({"segment.bytes": "100000", "segment.ms": "1000"})
    log = open_sample(disk_with_folder(), settings=settings)
    for timestamp in (NOW_MS, 5, NOW_MS, 6, NOW_MS + 1, 0):
        append(log, Step(plain(timestamp), 0))
    assert len(log.segments) == 1
    for _ in range(5):
        append(log, Step(plain(NOW_MS + 5000), 0))
    assert len(log.segments) == 2


def test_kafka_16310_lookups_among_equal_and_unordered_timestamps() -> None:
    """KAFKA-16310, KAFKA-9156: the first record with the largest timestamp, wherever it is."""
    disk = disk_with_folder()
    log = open_sample(disk)
    for timestamps in ((50, 90, 90), (90,), (10, 10), (90, 20), (2**40, 3), (2**40,), (0,)):
        log.append_replicated(_at(log.log_end_offset, *timestamps), now_ms=NOW_MS)
    assert len(log.segments) > 1
    for each in (log, open_sample(disk.kill()), open_sample(disk.kill(), recovery_point=log.log_end_offset)):
        assert tuple(each.find_max_timestamp() or ()) == (2**40, 8, 0)
        assert [(found or (0, -1))[1] for found in map(each.find_by_timestamp, (0, 51, 90, 91, 2**40, 2**40 + 1))] == [
            0,
            1,
            1,
            8,
            8,
            -1,
        ]


def _at(base_offset: int, *timestamps: int) -> bytes:
    batch = bytearray(plain(*timestamps))
    batch[0:8] = base_offset.to_bytes(8, "big")
    batch[12:16] = bytes(4)
    return bytes(batch)


def test_redpanda_4201_an_offset_beyond_the_end_is_out_of_range() -> None:
    """And below the start; the end itself is where the next record will be, and reads as nothing yet."""
    log = write_sample(disk_with_folder(), STEPS[:5])
    log.advance_log_start(3, high_watermark=9)
    for offset in (-1, 0, 2, log.log_end_offset + 1, 2**62):
        with pytest.raises(Refused) as refused:
            log.read(offset, 1000)
        assert refused.value.error_code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.read(log.log_end_offset, 1000).length == 0


def test_kafka_5829_snapshots_live_as_long_as_their_segments() -> None:
    """KAFKA-5829, KAFKA-9105: not gone too early, not kept for ever."""
    disk = disk_with_folder()
    log = write_sample(disk)
    snapshots = ProducerSnapshots(disk, FOLDER)
    assert snapshots.offsets() == log.segments.base_offsets[1:]
    log.remove_segments(log.segments.all()[:2], now_ms=NOW_MS)
    assert snapshots.offsets() == log.segments.base_offsets
    again = open_sample(disk.kill())
    assert ProducerSnapshots(again.filesystem, FOLDER).offsets() == again.segments.base_offsets
    log.close(NOW_MS)
    assert snapshots.offsets() == [*log.segments.base_offsets, log.log_end_offset]


def test_a_topic_id_survives_in_partition_metadata() -> None:
    disk = SimulatedDisk()
    directories = LogDirectories.open(disk, ["/one"], lambda _: SETTINGS, now_ms=NOW_MS)
    directories.create(TopicPartition("orders", 0), now_ms=NOW_MS, topic_id=UUID(int=5))
    (found,) = LogDirectories.open(disk.kill(), ["/one"], lambda _: SETTINGS, now_ms=NOW_MS).directories
    assert found.topic_ids == {TopicPartition("orders", 0): UUID(int=5)}


class TestProducersAfterRecovery:
    """Recovery reads every batch and hears of every producer on the way. What it has heard is not read again."""

    def recovered(self, disk: SimulatedDisk, recovery_point: int = 0, log_start_offset: int = 0) -> tuple[Log, int]:
        with patch.object(replay, "_replay_segment", side_effect=replay._replay_segment) as replayed:
            log = open_sample(disk, recovery_point=recovery_point, log_start_offset=log_start_offset)
        return log, replayed.call_count

    @pytest.mark.parametrize("count", range(1, len(STEPS) + 1))
    def test_the_log_is_read_once(self, count: int) -> None:
        disk = disk_with_folder()
        before = write_sample(disk, STEPS[:count])
        log, replays = self.recovered(disk.kill())
        assert replays == 0
        assert_derived(log, stored_batches(disk, FOLDER))
        assert [entry.batches for entry in log.producers.entries()] == [
            entry.batches for entry in before.producers.entries()
        ]  # all five of each, where a snapshot has one

    @pytest.mark.parametrize("recovery_point", range(0, 40, 3))
    @pytest.mark.parametrize("log_start_offset", [0, 5, 16])
    def test_from_any_recovery_point(self, recovery_point: int, log_start_offset: int) -> None:
        disk = disk_with_folder()
        write_sample(disk).flush(NOW_MS)
        found = disk.kill()
        log, replays = self.recovered(found, recovery_point=recovery_point, log_start_offset=log_start_offset)
        assert replays == 0
        assert log.producers.map_end_offset == log.log_end_offset
        clean = open_sample(found.kill(), is_clean=True, log_start_offset=log_start_offset)
        assert producers_of(log) == producers_of(clean)
        assert log.producers.first_undecided_offset == clean.producers.first_undecided_offset

    def test_a_torn_end(self) -> None:
        disk = disk_with_folder()
        active = write_sample(disk).segments.active
        found = disk.kill()
        file = found.open(active.path(".log"))
        file.truncate(file.size() - 1)
        log, replays = self.recovered(found)
        assert replays == 0
        assert_derived(log, stored_batches(found, FOLDER))

    @pytest.mark.parametrize("following", [[], [Step(plain(106), 0)]])
    def test_rot_below_the_recovery_point_is_looked_at_twice(self, following: list[Step]) -> None:
        """The CRC of a flushed batch fails, yet its head may be good: it is all that is left of its producer."""
        disk = disk_with_folder()
        log = write_sample(disk, [Step(plain(100), 0), Step(idempotent(10, 0, 105, 104), 0)])
        rotten_position = log.size_bytes - 3
        for step in following:
            append(log, step)
        log.flush(NOW_MS)
        found = disk.kill()
        found.flip_bit(log.segments.active.path(".log"), rotten_position, 1)
        again, replays = self.recovered(found, recovery_point=log.log_end_offset)
        assert replays == 1
        assert producers_of(again) == producers_of(log)


@pytest.mark.parametrize("resent", range(1, 6))
def test_57_all_five_batches_under_way_are_known_after_a_crash_though_a_segment_ended_among_them(resent: int) -> None:
    """A snapshot has the last batch of each producer alone. A killed broker would call those before it out of order,
    which an idempotent producer takes for a lost record."""
    disk = disk_with_folder()
    log = open_sample(disk)
    for sequence in range(6):
        append(log, Step(idempotent(10, sequence, NOW_MS), 0))
        if sequence == 3:
            log.roll(NOW_MS)
            log.flush(NOW_MS)
    again = open_sample(disk.kill(), recovery_point=log.segments.active.base_offset)
    assert len(again.segments) == len(log.segments) > 1
    assert append(again, Step(idempotent(10, resent, NOW_MS), 0)).is_duplicate
