"""Partitions made many at a time, removed many at a time, and set aside."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from tests.log.sample_log import NOW_MS, SETTINGS, STEPS, append
from tests.log.test_log_directory_crashes import DATA, DirectoryOracle, open_directory

from strandline.log.creation import NewPartition
from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import LogDirectory
from strandline.model.failures import StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk

TOPIC_ID = UUID(int=7)
TOKEN = "f" * 32


def partitions(count: int) -> list[TopicPartition]:
    return [TopicPartition("orders", number) for number in range(count)]


def create_many(directory: LogDirectory, wanted: list[TopicPartition]) -> list[Log]:
    creation = directory.begin_create([NewPartition(each, TOPIC_ID, leader_epoch=0) for each in wanted], now_ms=NOW_MS)
    creation.run()
    return directory.end_create(creation)


def syncs(disk: SimulatedDisk) -> int:
    return sum(line.startswith("sync") for line in disk.trace)


def test_power_is_lost_while_many_are_created() -> None:
    """What was created is there with its topic's id; what was flushed is there, with its leader epoch."""

    def run(disk: SimulatedDisk, oracle: DirectoryOracle) -> None:
        directory = open_directory(disk)
        wanted = partitions(3)
        oracle.in_doubt |= set(wanted)
        logs = create_many(directory, wanted)
        oracle.in_doubt.clear()
        for log in logs:
            oracle.durable[log.partition], oracle.possible[log.partition] = [], [[]]
            oracle.topic_ids[log.partition] = TOPIC_ID
        oracle.append(logs[0], *STEPS[:2])
        oracle.append(logs[1], STEPS[0])
        oracle.flush(logs[0])
        directory.write_recovery_points()
        oracle.close(directory)

    count = run_with_power_loss_at_every_step(
        run, lambda disk, oracle: oracle.verify(disk), make_oracle=DirectoryOracle, seeds=2
    )
    assert count.steps > 60


def test_many_cost_little_more_than_one() -> None:
    """Each has its id and its folder to sync, all share what lies above. The first record waits for no sync."""
    disk = SimulatedDisk()
    directory = open_directory(disk)
    before = syncs(disk)
    logs = create_many(directory, partitions(10))
    assert syncs(disk) - before == 2 * 10 + 1
    before = syncs(disk)
    append(logs[0], STEPS[0])
    assert syncs(disk) == before
    assert [tuple(entry) for entry in logs[0].epochs.entries()] == [(0, 0)]


def test_a_restart_with_idle_partitions_syncs_none_of_them() -> None:
    disk = SimulatedDisk()
    directory = open_directory(disk)
    create_many(directory, partitions(20))
    directory.close(now_ms=NOW_MS)
    disk = disk.kill()
    directory = open_directory(disk)
    for log in directory.logs.values():
        log.assign_epoch(0, 0)  # as the leader that comes back does
    assert syncs(disk) == 1, "the removal of the clean-shutdown marker"


def test_an_epoch_that_stayed_in_the_file_is_gone_before_another_writes_in_its_place() -> None:
    """A leader was elected at the end of the log and wrote nothing. Later, as a follower, it gets older records."""
    disk = SimulatedDisk()
    (log,) = create_many(open_directory(disk), partitions(1))
    append(log, STEPS[0])
    log.assign_epoch(5, log.log_end_offset)
    log.save_epochs()
    log.flush(NOW_MS)
    disk = disk.kill()
    log = open_directory(disk).logs[TopicPartition("orders", 0)]
    assert [tuple(entry) for entry in log.epochs.entries()] == [(0, 0)]
    append(log, STEPS[1])  # of epoch 0 too
    log.flush(NOW_MS)
    again = open_directory(disk.kill()).logs[TopicPartition("orders", 0)]
    assert [tuple(entry) for entry in again.epochs.entries()] == [(0, 0)]


def test_several_creations_run_in_threads_at_a_time(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("one", "two")]
    directories = LogDirectories.open(RealFileSystem(), paths, lambda _: SETTINGS, now_ms=NOW_MS)
    wanted = [NewPartition(each, TOPIC_ID, leader_epoch=3) for each in partitions(150)]
    creations = directories.begin_create(wanted, now_ms=NOW_MS)
    assert len(creations) > 2
    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(creation.run) for creation in creations]:
            done.result()
    for creation in creations:
        directories.end_create(creation)
    assert [len(each.logs) for each in directories.directories] == [75, 75], "spread as if made one by one"
    directories.close(now_ms=NOW_MS)
    again = LogDirectories.open(RealFileSystem(), paths, lambda _: SETTINGS, now_ms=NOW_MS)
    assert sorted(name for each in again.directories for name in each.logs) == partitions(150)
    assert {topic_id for each in again.directories for topic_id in each.topic_ids.values()} == {TOPIC_ID}
    again.close(now_ms=NOW_MS)


def test_a_disk_that_fails_while_creating_goes_offline() -> None:
    disk = SimulatedDisk()
    directory = open_directory(disk)
    creation = directory.begin_create([NewPartition(each) for each in partitions(2)], now_ms=NOW_MS)
    disk.fail_next("sync_directory", errno.EIO)
    creation.run()
    with pytest.raises(StorageFailed):
        directory.end_create(creation)
    assert not directory.is_usable()
    assert directory.logs == {}


def test_many_are_removed_with_as_few_syncs_as_one() -> None:
    counts = []
    for count in (1, 30):
        disk = SimulatedDisk()
        directory = open_directory(disk)
        create_many(directory, partitions(count))
        before = syncs(disk)
        directory.remove_many({each: f"{each.partition:032x}" for each in partitions(count)}, now_ms=NOW_MS)
        counts.append(syncs(disk) - before)
        assert [name for name in disk.names(DATA) if name.endswith("-delete")] == sorted(
            f"orders-{number}.{number:032x}-delete" for number in range(count)
        )
    assert counts[0] == counts[1]


def test_a_folder_set_aside_is_neither_used_nor_deleted(tmp_path: Path) -> None:
    def open_here() -> LogDirectory:
        return LogDirectory.open(RealFileSystem(), str(tmp_path), lambda _: SETTINGS, now_ms=NOW_MS)

    directory = open_here()
    (log,) = create_many(directory, partitions(1))
    append(log, STEPS[0])
    directory.set_aside(log.partition, token=TOKEN)
    assert directory.create(log.partition, now_ms=NOW_MS).log_end_offset == 0
    directory.remove_due_files(NOW_MS + 10 * SETTINGS.file_delete_delay_ms)
    directory.close(now_ms=NOW_MS)
    again = open_here()
    assert list(again.logs) == partitions(1)
    assert (tmp_path / f"orders-0.{TOKEN}-stray" / "00000000000000000000.log").stat().st_size > 0
    again.close(now_ms=NOW_MS)


def test_a_folder_belongs_to_one_topic(tmp_path: Path) -> None:
    directory = LogDirectory.open(RealFileSystem(), str(tmp_path), lambda _: SETTINGS, now_ms=NOW_MS)
    log = directory.create(TopicPartition("orders", 0), now_ms=NOW_MS)
    assert directory.claim(log.partition, TOPIC_ID)
    assert directory.claim(log.partition, TOPIC_ID)
    assert not directory.claim(log.partition, UUID(int=8))
    directory.close(now_ms=NOW_MS)
    again = LogDirectory.open(RealFileSystem(), str(tmp_path), lambda _: SETTINGS, now_ms=NOW_MS)
    assert again.topic_ids == {log.partition: TOPIC_ID}
    again.close(now_ms=NOW_MS)
