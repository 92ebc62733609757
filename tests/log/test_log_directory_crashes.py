"""Power lost between any two steps of a data directory's life: start, create, truncate, remove, stop (SPEC L8, L10)."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from tests.log.log_checks import assert_derived, assert_lookups, assert_no_hole, stored_batches
from tests.log.sample_log import NOW_MS, SETTINGS, STEPS, Step, append, plain

from strandline.log import checkpoints
from strandline.log.log import Log
from strandline.log.log_directory import LogDirectory
from strandline.model.partitions import TopicPartition
from strandline.simulation.crash_matrix import run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk

DATA = "/var/data"
ORDERS, VIEWS = TopicPartition("orders", 0), TopicPartition("views", 3)
FIRST_ID, SECOND_ID = UUID(int=1), UUID(int=2)


@dataclass
class DirectoryOracle:
    """For each partition the batches that must be there, and those that may be there in their place."""

    durable: dict[TopicPartition, list[bytes]] = field(default_factory=dict)
    possible: dict[TopicPartition, list[list[bytes]]] = field(default_factory=dict)
    in_doubt: set[TopicPartition] = field(default_factory=set)  # being created or removed
    topic_ids: dict[TopicPartition, UUID] = field(default_factory=dict)

    def create(self, directory: LogDirectory, partition: TopicPartition, topic_id: UUID) -> Log:
        self.in_doubt.add(partition)
        log = directory.create(partition, now_ms=NOW_MS, topic_id=topic_id)
        self.in_doubt.discard(partition)
        self.durable[partition], self.possible[partition] = [], [[]]
        self.topic_ids[partition] = topic_id
        return log

    def append(self, log: Log, *steps: Step) -> None:
        for step in steps:
            batch = bytearray(step.batch)
            batch[0:8] = log.log_end_offset.to_bytes(8, "big")
            batch[12:16] = step.leader_epoch.to_bytes(4, "big")
            self.possible[log.partition][-1].append(bytes(batch))
            append(log, step)

    def flush(self, log: Log) -> None:
        log.flush(NOW_MS)
        self.promise_all(log.partition)

    def promise_all(self, partition: TopicPartition) -> None:
        content = self.possible[partition][-1]
        self.durable[partition], self.possible[partition] = list(content), [list(content)]

    def truncate(self, log: Log, count: int) -> None:
        """Keep `count` batches."""
        kept = self.possible[log.partition][-1][:count]
        offset = int.from_bytes(self.possible[log.partition][-1][count][:8], "big")
        self.durable[log.partition] = self.durable[log.partition][:count]
        self.possible[log.partition].append(kept)
        log.truncate_to(offset, now_ms=NOW_MS)

    def remove(self, directory: LogDirectory, partition: TopicPartition) -> None:
        self.in_doubt.add(partition)
        directory.remove(partition, token="0" * 32, now_ms=NOW_MS)
        self.in_doubt.discard(partition)
        del self.durable[partition], self.possible[partition], self.topic_ids[partition]

    def close(self, directory: LogDirectory) -> None:
        directory.close(now_ms=NOW_MS)
        for partition in self.durable:
            self.promise_all(partition)

    def verify(self, disk: SimulatedDisk) -> None:
        directory = open_directory(disk)
        assert directory.failure is None
        assert set(directory.logs) - self.in_doubt == set(self.durable) - self.in_doubt
        for partition, log in directory.logs.items():
            self._verify_log(disk, directory, log)
            if partition in self.topic_ids and partition not in self.in_doubt:
                assert directory.topic_ids[partition] == self.topic_ids[partition]
        again = open_directory(disk.kill())
        assert not again.was_clean
        assert again.findings == []
        self._verify_checkpoints(directory)
        directory.close(now_ms=NOW_MS)
        assert open_directory(disk.kill()).was_clean

    def _verify_log(self, disk: SimulatedDisk, directory: LogDirectory, log: Log) -> None:
        batches = stored_batches(disk, log.directory)
        found = [batch.data for batch in batches]
        assert_derived(log, batches, has_exact_indexes=False)
        if log.partition in self.in_doubt:
            return
        assert found[: len(self.durable[log.partition])] == self.durable[log.partition]
        assert any(found == timeline[: len(found)] for timeline in self.possible[log.partition])
        if directory.was_clean:
            assert found in self.possible[log.partition], "a clean stop lost something"

    def _verify_checkpoints(self, directory: LogDirectory) -> None:
        """KAFKA-10101: no checkpoint is ahead of the log it speaks of."""
        path = f"{DATA}/{checkpoints.RECOVERY_POINT_CHECKPOINT}"
        for partition, offset in checkpoints.read_offsets(directory.filesystem, path).items():
            if partition in directory.logs:
                assert offset <= directory.logs[partition].log_end_offset


def open_directory(disk: SimulatedDisk) -> LogDirectory:
    return LogDirectory.open(disk, DATA, lambda _: SETTINGS, now_ms=NOW_MS)


def test_create_append_checkpoint_stop_and_start() -> None:
    """KAFKA-15375: a start that did not come to its end is not taken for a clean stop by the next one."""

    def run(disk: SimulatedDisk, oracle: DirectoryOracle) -> None:
        directory = open_directory(disk)
        log = oracle.create(directory, ORDERS, FIRST_ID)
        oracle.append(log, *STEPS[:7])
        oracle.flush(log)
        directory.write_recovery_points()
        oracle.append(log, *STEPS[7:9])
        oracle.close(directory)
        directory = open_directory(disk)
        assert directory.was_clean
        log = directory.logs[ORDERS]
        oracle.append(log, *STEPS[9:11])
        oracle.close(directory)

    count = run_with_power_loss_at_every_step(
        run, lambda disk, oracle: oracle.verify(disk), make_oracle=DirectoryOracle, seeds=2
    )
    assert count.steps > 100


def test_a_stop_whose_flushes_are_done_in_threads() -> None:
    """`begin_close`, `run`, `end_flush`, and then a `close` that has nothing left to sync but its own files."""

    def run(disk: SimulatedDisk, oracle: DirectoryOracle) -> None:
        directory = open_directory(disk)
        for partition in (ORDERS, VIEWS):
            oracle.append(oracle.create(directory, partition, FIRST_ID), *STEPS[:8])
        works = [(log, log.begin_close()) for log in directory.logs.values()]
        for log, work in works:
            assert work is not None
            work.run()
            log.end_flush(work, NOW_MS)
            oracle.promise_all(log.partition)
        assert [log.begin_close() for log in directory.logs.values()] == [None, None]
        oracle.close(directory)
        assert open_directory(disk).was_clean

    run_with_power_loss_at_every_step(
        run, lambda disk, oracle: oracle.verify(disk), make_oracle=DirectoryOracle, seeds=2
    )


def test_a_checkpoint_that_waits_while_a_log_is_truncated() -> None:
    """KAFKA-10101 with a second thread: what it notes before the truncation is never written after it."""

    def run(disk: SimulatedDisk, oracle: DirectoryOracle) -> None:
        directory = open_directory(disk)
        log = oracle.create(directory, ORDERS, FIRST_ID)
        oracle.append(log, *STEPS[:9])
        oracle.flush(log)
        work = directory.begin_recovery_points()
        assert work is not None
        promised = log.log_end_offset
        oracle.truncate(log, 3)
        work.run()
        oracle.append(log, *[Step(plain(300 + number), 4) for number in range(12)])
        assert log.log_end_offset > promised, "what was promised is there again, and not on the disk"

    run_with_power_loss_at_every_step(
        run, lambda disk, oracle: oracle.verify(disk), make_oracle=DirectoryOracle, seeds=2
    )


def test_truncation_below_what_the_checkpoint_promises() -> None:
    """KAFKA-10101, KAFKA-15375, RP#10492: killed in the middle of a truncation."""

    def run(disk: SimulatedDisk, oracle: DirectoryOracle) -> None:
        directory = open_directory(disk)
        log = oracle.create(directory, ORDERS, FIRST_ID)
        oracle.append(log, *STEPS[:9])
        oracle.flush(log)
        directory.write_recovery_points()
        oracle.truncate(log, 3)
        oracle.append(log, Step(plain(300), 4), Step(plain(301), 4))
        oracle.flush(log)
        directory.write_recovery_points()
        oracle.truncate(log, 4)
        oracle.close(directory)

    run_with_power_loss_at_every_step(
        run, lambda disk, oracle: oracle.verify(disk), make_oracle=DirectoryOracle, seeds=2
    )


BEFORE_START = 3


@dataclass
class SpanningOracle:
    """A follower whose leader's log starts inside a batch."""

    batches: list[bytes]
    is_flushed: bool = False
    is_checkpointed: bool = False

    def verify(self, disk: SimulatedDisk) -> None:
        directory = open_directory(disk)
        log = directory.logs.get(ORDERS)
        if log is None:
            assert not self.is_flushed
            return
        stored = stored_batches(disk, log.directory)
        found = [batch.data for batch in stored]
        assert_no_hole(log, stored)
        assert_lookups(log, stored)
        assert found == self.batches[: len(found)]
        if self.is_flushed:
            assert found == self.batches
        if self.is_checkpointed:
            assert log.log_start_offset == BEFORE_START + 2
        assert open_directory(disk.kill()).findings == []
        # Whatever was left, the follower goes on where it is.
        log.append_replicated(b"".join(self.batches[len(found) :]), now_ms=NOW_MS)
        assert [batch.data for batch in stored_batches(disk, log.directory)] == self.batches


def leaders_batches() -> list[bytes]:
    batches, offset = [], BEFORE_START
    for batch in (bytearray(plain(100, 101, 102, 103)), bytearray(plain(104)), bytearray(plain(105, 106))):
        batch[0:8] = offset.to_bytes(8, "big")
        batch[12:16] = (1).to_bytes(4, "big")
        offset += int.from_bytes(batch[23:27], "big") + 1
        batches.append(bytes(batch))
    return batches


def test_a_follower_begins_inside_a_batch() -> None:
    """KAFKA-6975: the batch is taken whole; the log start is where it was, also after a restart."""

    def run(disk: SimulatedDisk, oracle: SpanningOracle) -> None:
        directory = open_directory(disk)
        log = directory.create(ORDERS, now_ms=NOW_MS)
        log.truncate_fully_and_start_at(BEFORE_START + 2, now_ms=NOW_MS)
        directory.write_log_starts()
        log.append_replicated(b"".join(oracle.batches), now_ms=NOW_MS)
        log.flush(NOW_MS)
        oracle.is_flushed = True
        directory.write_recovery_points()
        directory.write_log_starts()
        oracle.is_checkpointed = True
        directory.close(now_ms=NOW_MS)

    count = run_with_power_loss_at_every_step(
        run, lambda disk, oracle: oracle.verify(disk), make_oracle=lambda: SpanningOracle(leaders_batches()), seeds=2
    )
    assert count.steps > 30


def test_a_topic_is_removed_and_created_again() -> None:
    """KAFKA-12964: the new log is empty whatever the old one left."""

    def run(disk: SimulatedDisk, oracle: DirectoryOracle) -> None:
        directory = open_directory(disk)
        log = oracle.create(directory, ORDERS, FIRST_ID)
        other = oracle.create(directory, VIEWS, FIRST_ID)
        oracle.append(log, *STEPS[:3])
        oracle.append(other, *STEPS[:2])
        oracle.flush(log)
        oracle.flush(other)
        directory.write_recovery_points()
        oracle.remove(directory, ORDERS)
        log = oracle.create(directory, ORDERS, SECOND_ID)
        oracle.append(log, STEPS[0])
        directory.remove_due_files(NOW_MS + SETTINGS.file_delete_delay_ms)
        oracle.close(directory)

    run_with_power_loss_at_every_step(
        run, lambda disk, oracle: oracle.verify(disk), make_oracle=DirectoryOracle, seeds=2
    )


def test_a_start_that_is_killed_is_followed_by_a_recovery() -> None:
    """KAFKA-15375: the marker goes before anything is touched."""
    disk = SimulatedDisk()
    directory = open_directory(disk)
    append(directory.create(ORDERS, now_ms=NOW_MS), STEPS[0])
    directory.close(now_ms=NOW_MS)
    stopped = disk.kill()
    first = stopped.kill()
    assert open_directory(first).was_clean
    assert not open_directory(first.kill()).was_clean
