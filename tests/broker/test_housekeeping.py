"""What a broker does while nobody asks, with time and threads in the test's hands (SPEC C1-C6, L8-L10)."""

from __future__ import annotations

import errno
import logging

import pytest
from tests.broker.housekeeping_scene import DIRECTORIES, HOUR_MS, NOW_MS, HousekeepingScene, read_pairs, write

from strandline.broker.housekeeping.removals import INTERVAL_MAX_MS
from strandline.broker.partition import Partition
from strandline.log import checkpoints
from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER
from strandline.model.failures import StorageFailed
from strandline.model.settings import DAY_MS

ONE = DIRECTORIES[0]
VALUE = "v" * 60


def fill(scene: HousekeepingScene, partition: Partition, count: int = 12, keys: int = 3) -> None:
    """Some segments of two batches each."""
    for number in range(count):
        write(partition, scene.host.now_ms(), (f"key-{number % keys}", f"{number:03d}{VALUE}"))


# Retention.


def test_old_segments_go_at_the_check_one_in_each_turn_of_the_loop() -> None:
    scene = HousekeepingScene(log_retention_ms=HOUR_MS, log_retention_check_interval_ms=60_000)
    partition = scene.create("orders")
    fill(scene, partition)
    count = len(partition.log.segments)
    assert count > 3
    scene.host.pass_time(60_000)
    assert len(partition.log.segments) == count
    turns = scene.host.turns
    scene.host.pass_time(HOUR_MS)
    assert len(partition.log.segments) == 1
    assert partition.log.log_start_offset == partition.log.log_end_offset == 12
    assert scene.host.turns - turns >= count


def test_retention_waits_for_the_disk_in_a_thread_and_takes_nothing_out_before() -> None:
    """Once records are gone, a snapshot is all that is known of their producers. A broker with thousands of partitions
    whose records expire together would answer nobody while it synced them itself."""
    scene = HousekeepingScene(log_retention_ms=HOUR_MS)
    partition = scene.create("orders")
    fill(scene, partition)
    scene.host.settle()
    count = len(partition.log.segments)
    scene.host.time_ms += 2 * HOUR_MS
    partition.log.roll(scene.host.now_ms())
    scene.housekeeping.retention.begin()
    scene.host.run_events()
    assert partition.log.has_unflushed_files
    assert len(partition.log.segments) == count + 1
    scene.host.settle()
    assert not partition.log.has_unflushed_files
    assert len(partition.log.segments) == 1


def test_a_disk_that_fails_before_a_segment_goes_ends_neither_the_round_nor_the_others() -> None:
    scene = HousekeepingScene(directories=DIRECTORIES, log_retention_ms=HOUR_MS)
    first, second = scene.create("orders"), scene.create("payments")
    assert first.log.directory.rpartition("/")[0] != second.log.directory.rpartition("/")[0]
    for partition in (first, second):
        fill(scene, partition)
    scene.host.settle()
    scene.host.time_ms += 2 * HOUR_MS
    for partition in (first, second):
        partition.log.roll(scene.host.now_ms())
    scene.housekeeping.retention.begin()
    scene.disk.fail_next("sync", path_contains="orders-0")
    scene.host.settle()
    assert first.log.failure is not None
    assert len(second.log.segments) == 1


def test_the_first_check_does_not_wait_for_a_long_interval() -> None:
    scene = HousekeepingScene(log_retention_ms=1)
    partition = scene.create("orders")
    fill(scene, partition)
    scene.host.pass_time(30_000)
    assert len(partition.log.segments) == 1


def test_looking_at_old_segments_leaves_no_descriptors_open() -> None:
    """Of ten thousand logs, each would cost five."""
    scene = HousekeepingScene(log_retention_ms=HOUR_MS)
    fill(scene, scene.create("orders"))
    scene.host.settle()
    scene.directories.close(now_ms=NOW_MS)
    again = HousekeepingScene(disk=scene.disk, log_retention_ms=HOUR_MS)
    partition = again.partitions.leader_of("orders", 0)
    again.host.pass_time(60_000)
    assert not partition.log.segments.first.is_open
    assert partition.log.segments.first.max_timestamp == NOW_MS
    again.host.pass_time(2 * HOUR_MS)
    assert len(partition.log.segments) == 1


def test_deleted_files_are_unlinked_when_their_time_has_come() -> None:
    scene = HousekeepingScene(log_retention_ms=1, log_segment_delete_delay_ms=60_000)
    partition = scene.create("orders")
    fill(scene, partition)
    scene.host.pass_time(30_000)
    assert scene.files(partition, ".log.deleted")
    scene.host.pass_time(59_000)
    assert scene.files(partition, ".log.deleted")
    scene.host.pass_time(2_000)
    assert not scene.files(partition, ".deleted")


def test_files_without_a_delay_are_unlinked_within_seconds() -> None:
    scene = HousekeepingScene(log_retention_ms=1, log_segment_delete_delay_ms=0)
    partition = scene.create("orders")
    fill(scene, partition)
    scene.host.pass_time(30_000)
    assert len(partition.log.segments) == 1
    scene.host.pass_time(INTERVAL_MAX_MS)
    assert not scene.files(partition, ".deleted")


def test_the_folder_of_a_deleted_topic_is_unlinked_later_even_while_its_segments_are() -> None:
    scene = HousekeepingScene(log_retention_ms=1, log_segment_delete_delay_ms=60_000)
    partition = scene.create("orders")
    fill(scene, partition)
    scene.host.pass_time(30_000)
    scene.remove(partition)
    scene.host.pass_time(120_000)
    assert [name for name in scene.disk.names(ONE) if name.startswith("orders")] == []
    assert scene.directories.online()


# Flushing.


def test_a_new_segment_has_the_ones_before_it_flushed_in_a_thread() -> None:
    scene = HousekeepingScene()
    partition = scene.create("orders")
    fill(scene, partition, 2)
    assert partition.log.recovery_point == 0
    fill(scene, partition, 1)
    assert len(partition.log.segments) == 2
    scene.host.turn()
    assert scene.host.waiting_threads == 1
    assert partition.log.recovery_point == 0
    scene.host.settle()
    assert partition.log.recovery_point == partition.log.segments.active.base_offset == 2


def test_a_segment_that_was_flushed_to_its_end_before_it_was_finished_is_flushed_as_it_is_then() -> None:
    """Its indexes were trimmed since: on the disk they still have room for more, which is zeros to whoever finds it."""
    scene = HousekeepingScene()
    partition = scene.create("orders")
    write(partition, NOW_MS, ("key", VALUE))
    partition.log.flush(NOW_MS)
    partition.log.roll(NOW_MS)
    scene.host.settle()
    assert not partition.log.has_unflushed_files
    for _, disk in scene.disk.crash_states(limit=50):
        sizes = disk.sizes(partition.log.directory)
        assert (sizes[f"{0:020d}.index"], sizes[f"{0:020d}.timeindex"]) == (0, 12)


def test_by_time() -> None:
    scene = HousekeepingScene()
    slow, quick = scene.create("slow"), scene.create("quick", flush_ms=1_000)
    for partition in (slow, quick):
        write(partition, NOW_MS, ("key", "value"))
    scene.host.pass_time(10_000)  # when a broker that had no such topic looks for one
    scene.host.pass_time(1_500)
    assert (slow.log.recovery_point, quick.log.recovery_point) == (0, 1)
    write(quick, NOW_MS, ("key", "value"))
    scene.host.pass_time(1_500)
    assert quick.log.recovery_point == 2


def test_what_exceeds_flush_messages_is_committed_when_it_is_on_the_disk() -> None:
    """Kafka answers after the flush. Here the high watermark waits for it, and acks=all with it."""
    scene = HousekeepingScene()
    partition = scene.create("ledger", flush_messages=2)
    write(partition, NOW_MS, ("a", "1"))
    assert partition.high_watermark == 1
    write(partition, NOW_MS, ("b", "2"))
    write(partition, NOW_MS, ("c", "3"))
    assert partition.high_watermark == 1
    scene.host.turn()
    assert scene.host.waiting_threads == 1
    assert partition.high_watermark == 1
    scene.host.settle()
    assert partition.high_watermark == partition.log.recovery_point == 3


def test_records_that_come_during_a_flush_have_the_next_one() -> None:
    scene = HousekeepingScene()
    partition = scene.create("ledger", flush_messages=1)
    write(partition, NOW_MS, ("a", "1"))
    scene.host.turn()
    write(partition, NOW_MS, ("b", "2"))
    scene.host.turn()
    assert scene.host.waiting_threads == 1, "one log is flushed by one thread at a time"
    scene.host.run_one_thread()
    scene.host.turn()
    assert partition.high_watermark == 1
    scene.host.settle()
    assert partition.high_watermark == 2


def test_what_a_crash_left_unflushed_is_flushed_at_the_start() -> None:
    scene = HousekeepingScene(log_flush_interval_messages=1)
    write(scene.create("ledger"), NOW_MS, ("a", "1"))
    again = HousekeepingScene(disk=scene.disk.kill(), log_flush_interval_messages=1)
    partition = again.partitions.leader_of("ledger", 0)
    assert partition.high_watermark == 0
    again.host.settle()
    assert partition.high_watermark == 1


# Checkpoints.


def test_each_checkpoint_is_written_at_its_interval_and_only_if_it_changed() -> None:
    scene = HousekeepingScene()
    partition = scene.create("orders")
    fill(scene, partition, 3)
    scene.host.pass_time(5_000)
    assert scene.text(f"{ONE}/{checkpoints.HIGH_WATERMARK_CHECKPOINT}") == "0\n1\norders 0 3\n"
    assert not scene.disk.exists(f"{ONE}/{checkpoints.RECOVERY_POINT_CHECKPOINT}")
    partition.log.advance_log_start(1, high_watermark=3)
    scene.host.pass_time(60_000)
    assert scene.text(f"{ONE}/{checkpoints.RECOVERY_POINT_CHECKPOINT}") == "0\n1\norders 0 2\n"
    assert scene.text(f"{ONE}/{checkpoints.LOG_START_CHECKPOINT}") == "0\n1\norders 0 1\n"
    operations = scene.disk.operations
    scene.host.pass_time(600_000)
    assert scene.disk.operations == operations


def test_the_owners_thread_does_not_wait_for_a_checkpoint() -> None:
    scene = HousekeepingScene()
    fill(scene, scene.create("orders"), 1)
    scene.housekeeping.checkpoints.high_watermarks()
    assert scene.host.waiting_threads == 1
    assert not scene.disk.exists(f"{ONE}/{checkpoints.HIGH_WATERMARK_CHECKPOINT}")


def test_a_checkpoint_noted_before_a_topic_was_deleted_is_not_written_after_it() -> None:
    """Or a topic of the same name would begin with the recovery point of the old one."""
    scene = HousekeepingScene()
    partition = scene.create("orders")
    fill(scene, partition)
    scene.host.settle()
    scene.housekeeping.checkpoints.recovery_points()
    assert scene.host.waiting_threads == 1
    scene.remove(partition)
    scene.host.settle()
    assert scene.text(f"{ONE}/{checkpoints.RECOVERY_POINT_CHECKPOINT}") == "0\n0\n"


# Compaction.


def test_the_dirtiest_log_is_compacted_first_and_then_the_others() -> None:
    scene = HousekeepingScene(log_cleanup_policy="compact", log_cleaner_min_cleanable_ratio="0.1")
    half, dirty = scene.create("half"), scene.create("dirty")
    directory = scene.directories.directories[0]
    for partition in (half, dirty):
        fill(scene, partition)
    directory.cleaner_offsets[half.name] = 6
    scene.host.settle()
    scene.host.time_ms += 15_000
    scene.housekeeping.cleaner.begin()
    order = []
    while scene.host.waiting_threads:
        order += scene.housekeeping.cleaner.under_way()
        scene.host.run_one_thread()
        scene.host.run_events()
    assert list(dict.fromkeys(order)) == ["dirty-0", "half-0"]
    assert read_pairs(dirty)[0][0] > 6, "the older values of each key are gone"
    assert [pair[1:] for pair in read_pairs(dirty)[-1:]] == [("key-2", f"011{VALUE}")]
    assert directory.read_cleaner_offsets() == directory.cleaner_offsets
    assert set(directory.cleaner_offsets) == {dirty.name, half.name}


def test_compaction_goes_on_by_itself_and_rests_when_there_is_nothing_to_do() -> None:
    scene = HousekeepingScene()
    partition = scene.create("table", cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
    fill(scene, partition)
    before = len(read_pairs(partition))
    scene.host.pass_time(15_000)
    assert len(read_pairs(partition)) < before
    assert partition.log.log_end_offset == 12
    fill(scene, partition)
    scene.host.pass_time(15_000)
    keys = [key for _, key, _ in read_pairs(partition)]
    assert len(keys) < before
    assert set(keys) == {"key-0", "key-1", "key-2"}


def test_no_compaction_where_it_is_switched_off() -> None:
    scene = HousekeepingScene(log_cleaner_enable="false")
    partition = scene.create("table", cleanup_policy="compact")
    fill(scene, partition)
    scene.host.pass_time(60_000)
    assert len(read_pairs(partition)) == 12


def test_a_damaged_log_is_left_alone_and_the_others_are_compacted(caplog: pytest.LogCaptureFixture) -> None:
    scene = HousekeepingScene(log_cleanup_policy="compact", log_cleaner_min_cleanable_ratio="0.01")
    damaged, sound = scene.create("damaged"), scene.create("sound")
    for partition in (damaged, sound):
        fill(scene, partition)
    scene.disk.flip_bit(f"{damaged.log.directory}/00000000000000000000.log", 100, 3)
    scene.host.pass_time(60_000)
    assert len(read_pairs(sound)) < 12
    assert scene.housekeeping.cleaner.uncleanable() == ["damaged-0"]
    assert [record.getMessage() for record in caplog.records if "damaged-0" in record.getMessage()] != []
    assert len([record for record in caplog.records if "not compacted until" in record.getMessage()]) == 1
    assert scene.files(damaged, ".cleaned") == []


def test_a_topic_deleted_amid_its_compaction_is_gone_and_its_successor_untouched() -> None:
    scene = HousekeepingScene(log_cleanup_policy="compact", log_cleaner_min_cleanable_ratio="0.01")
    partition = scene.create("table")
    fill(scene, partition)
    scene.host.settle()
    scene.housekeeping.cleaner.begin()
    scene.host.run_one_thread()  # its end is not heard of yet
    scene.remove(partition)
    successor = scene.create("table")
    fill(scene, successor, 5, keys=5)
    scene.host.settle()
    assert len(read_pairs(successor)) == 5
    assert scene.files(successor, ".cleaned") == scene.files(successor, ".swap") == []
    assert scene.directories.directories[0].cleaner_offsets.get(successor.name, 0) <= 5


def test_a_stop_amid_a_compaction_leaves_the_log_as_it_was() -> None:
    scene = HousekeepingScene(log_cleanup_policy="compact", log_cleaner_min_cleanable_ratio="0.01")
    partition = scene.create("table")
    fill(scene, partition)
    scene.host.settle()
    scene.housekeeping.cleaner.begin()
    assert scene.host.waiting_threads == 1
    assert scene.stop()
    assert len(read_pairs(partition)) == 12
    assert scene.files(partition, ".cleaned") == []


# Producers.


def test_idle_producers_are_forgotten() -> None:
    scene = HousekeepingScene()
    partition = scene.create("orders")
    write(partition, scene.host.now_ms(), ("key", "value"), producer_id=7)
    scene.host.pass_time(DAY_MS - 600_000)
    assert partition.log.producers.entry_of(7) is not None
    scene.host.pass_time(1_200_000)
    assert partition.log.producers.entry_of(7) is None


# Failing disks.


@pytest.mark.parametrize("what", ["flush", "checkpoint", "compaction", "removal"])
def test_a_directory_that_fails_is_told_once_and_the_others_go_on(what: str, caplog: pytest.LogCaptureFixture) -> None:
    scene = HousekeepingScene(
        directories=DIRECTORIES,
        log_cleanup_policy="compact,delete",
        log_cleaner_min_cleanable_ratio="0.01",
        log_segment_delete_delay_ms=0,
    )
    failing, sound = scene.create("failing"), scene.create("sound")
    assert (failing.log.directory, sound.log.directory) == ("/disks/one/failing-0", "/disks/two/sound-0")
    fill(scene, failing)
    fill(scene, sound)
    if what != "flush":
        scene.host.settle()
    operation = {"flush": "sync", "checkpoint": "sync", "compaction": "append", "removal": "remove"}[what]
    path = {"checkpoint": checkpoints.HIGH_WATERMARK_CHECKPOINT, "compaction": ".cleaned", "removal": ".deleted"}
    scene.disk.fail_next(operation, errno.EIO, path_contains="/disks/one" if what == "flush" else path[what])
    scene.host.pass_time(30_000)
    assert not scene.disk.faults, "the fault was met"
    with pytest.raises(StorageFailed):
        write(failing, NOW_MS, ("key", "value"))
    write(sound, scene.host.now_ms(), ("key", "value"))
    scene.host.pass_time(600_000)
    told = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.getMessage().startswith("/disks/one has failed: ") for record in told] == [True]
    assert scene.image.topics["failing"].partitions[0].offline_replicas == (1,)
    assert scene.image.topics["sound"].partitions[0].offline_replicas == ()
    assert scene.all_failed == []
    assert scene.stop()


def test_without_a_directory_there_is_nothing_to_go_on_with() -> None:
    scene = HousekeepingScene()
    fill(scene, scene.create("orders"), 1)
    scene.disk.fail_next("append")
    with pytest.raises(StorageFailed):
        write(scene.partitions.leader_of("orders", 0), NOW_MS, ("key", "value"))
    (reason,) = scene.all_failed
    assert reason.startswith("every data directory has failed, the last of them /disks/one: ")


# Stopping.


def test_a_stop_waits_for_what_is_under_way_and_begins_nothing() -> None:
    scene = HousekeepingScene()
    partition = scene.create("orders")
    fill(scene, partition)
    scene.host.turn()
    assert scene.host.waiting_threads == 1
    stopped: list[bool] = []
    scene.housekeeping.stop(lambda: stopped.append(True))
    scene.host.turn()
    assert stopped == []
    scene.host.settle()
    assert stopped == [True]
    operations = scene.disk.operations
    scene.host.pass_time(DAY_MS)
    assert scene.disk.operations == operations


def test_a_directory_that_fails_at_the_stop_costs_the_others_nothing() -> None:
    """The simulator found it: the broker ended with a traceback (SPEC L10)."""
    scene = HousekeepingScene(directories=DIRECTORIES)
    failing, sound = scene.create("failing"), scene.create("sound")
    for partition in (failing, sound):
        fill(scene, partition, 1)
    assert scene.stop()
    scene.disk.fail_next("sync", path_contains=f"/disks/one/{checkpoints.HIGH_WATERMARK_CHECKPOINT}")
    scene.housekeeping.write_last_high_watermarks()
    scene.directories.close(now_ms=scene.host.now_ms())
    written = scene.text(f"/disks/two/{checkpoints.HIGH_WATERMARK_CHECKPOINT}")
    assert written == f"0\n1\nsound 0 {sound.high_watermark}\n"
    is_clean = [scene.disk.exists(f"{directory}/{CLEAN_SHUTDOWN_MARKER}") for directory in DIRECTORIES]
    assert is_clean == [False, True]
