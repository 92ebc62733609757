"""One data directory of a broker: its lock, its checkpoints, its partitions (SPEC L8, L10).

    .lock                      held while a process uses the directory, Kafka's processes included
    meta.properties            whose directory it is
    .kafka_cleanshutdown       there only between a clean stop and the next start
    <topic>-<partition>/       a log
    <name>.<token>-delete/     a partition that was removed and whose files wait to go
    the four offset checkpoints

The first failed write or sync takes the whole directory offline: its logs refuse everything, nothing more is written
into it, the checkpoints least of all, and no sync is tried again (SPEC L10). Other directories go on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from uuid import UUID

from strandline.log import checkpoints
from strandline.log.clean_shutdown import (
    CLEAN_SHUTDOWN_MARKER,
    UNKNOWN_BROKER_EPOCH,
    encode_clean_shutdown,
)
from strandline.log.creation import LogCreation, NewPartition
from strandline.log.deletions import Delayed, take_over
from strandline.log.directory_checkpoints import CheckpointWork, DirectoryCheckpoints
from strandline.log.directory_opening import DirectoryOpening
from strandline.log.filesystem import File, FileSystem, make_directories_durably, replace_durably
from strandline.log.log import Log
from strandline.log.names import LOCK, PARTITION_METADATA
from strandline.log.partition_metadata import encode_partition_metadata
from strandline.log.removal import RemovalWork
from strandline.model.failures import CorruptData, StorageFailed, check
from strandline.model.partitions import (
    MOVED_FOLDER,
    TopicPartition,
    check_topic_name,
    deleted_folder,
    stray_folder,
)
from strandline.model.settings import DAY_MS, LONG_MAX, LogSettings

SettingsOf = Callable[[str], LogSettings]
Progress = Callable[[str], None]


class DirectoryInUse(Exception):
    """Another process holds the lock. The message names the directory and says what to do."""


class LogDirectory:
    """The logs of one directory by partition, and what is known of it as a whole."""

    def __init__(self, filesystem: FileSystem, path: str, settings_of: SettingsOf) -> None:
        """Use `LogDirectory.open`."""
        self.filesystem = filesystem
        self.path = path
        self.settings_of = settings_of
        self.logs: dict[TopicPartition, Log] = {}
        self.topic_ids: dict[TopicPartition, UUID] = {}
        self.findings: list[str] = []  # what opening found and mended, in sentences
        self.failure: str | None = None
        self.was_clean = False
        self.checkpoints = DirectoryCheckpoints(filesystem, path)
        self.cleaner_offsets: dict[TopicPartition, int] = {}  # up to where logs are compacted
        self.producer_id_expiration_ms = DAY_MS
        # What the broker wants to hear of.
        self.has_failed: Callable[[LogDirectory], object] = lambda _: None
        self.flush_wanted: Callable[[Log, int], object] = lambda *_: None
        self.rot_found: Callable[[Log, str], object] = lambda *_: None
        self.removals: deque[Delayed[str]] = deque()  # of folders
        self._lock: File | None = None

    @classmethod
    def open(
        cls,
        filesystem: FileSystem,
        path: str,
        settings_of: SettingsOf,
        *,
        now_ms: int,
        progress: Progress | None = None,
        producer_id_expiration_ms: int = DAY_MS,
    ) -> LogDirectory:
        """Lock the directory and open every partition in it. `progress` is called with each folder's name."""
        directory = cls(filesystem, path, settings_of)
        directory.producer_id_expiration_ms = producer_id_expiration_ms
        try:
            make_directories_durably(filesystem, path)
            directory._take_lock()
            directory._load(now_ms, progress or (lambda _: None))
        except OSError as error:
            directory.failed(error)
        return directory

    def _take_lock(self) -> None:
        self._lock = self.filesystem.lock(f"{self.path}/{LOCK}")
        if self._lock is None:
            raise DirectoryInUse(f"{self.path} is in use by another process; stop it, or choose another directory")

    def _load(self, now_ms: int, progress: Progress) -> None:
        opening = DirectoryOpening(self.filesystem, self.path, self.findings, now_ms, self.producer_id_expiration_ms)
        self.was_clean = opening.take_clean_shutdown_marker()
        recovery_points = self._read_offsets(checkpoints.RECOVERY_POINT_CHECKPOINT)
        log_starts = self._read_offsets(checkpoints.LOG_START_CHECKPOINT)
        high_watermarks = self.read_high_watermarks()
        for folder, partition in list(opening.partition_folders()):
            progress(folder)
            recovery_point, log_start = recovery_points.get(partition, 0), log_starts.get(partition, 0)
            settings = self.settings_of(partition.topic)
            log = opening.open_log(folder, partition, settings, recovery_point, log_start, is_clean=self.was_clean)
            self._adopt(log)
            if high_watermarks:  # or nothing is known, and all of every log would be read
                log.remember_unreplicated(high_watermarks.get(partition, 0))
            topic_id = opening.topic_id(folder)
            if topic_id is not None:
                self.topic_ids[partition] = topic_id
        self.cleaner_offsets = self.read_cleaner_offsets()
        cut = [log for name, log in self.logs.items() if log.log_end_offset < self.cleaner_offsets.get(name, 0)]
        self._count_as_dirty({log.partition: log.segments.active.base_offset for log in cut})
        for partition, offset in recovery_points.items():
            if partition in self.logs and offset > self.logs[partition].log_end_offset:
                end = self.logs[partition].log_end_offset
                self.findings.append(f"{partition} ends at {end}, and was on the disk up to {offset}: records are gone")
        # What was lost must not count as flushed when the log has grown past it again (KAFKA-10101).
        if any(offset > self._recovery_point_of(partition) for partition, offset in recovery_points.items()):
            self.write_recovery_points()

    def _recovery_point_of(self, partition: TopicPartition) -> int:
        log = self.logs.get(partition)
        return log.recovery_point if log else 0

    def _adopt(self, log: Log) -> None:
        self.logs[log.partition] = log
        log.producer_id_expiration_ms = self.producer_id_expiration_ms
        log.offsets_lowered = self._write_lowered_offsets
        log.truncating = lambda offset: self._count_as_dirty({log.partition: offset})
        log.has_failed = self.failed
        log.rot_found = lambda what: self.rot_found(log, what)
        log.flush_wanted = lambda up_to_offset: self.flush_wanted(log, up_to_offset)

    def _write_lowered_offsets(self) -> None:
        """A log was truncated: what the checkpoints promise must shrink before the log does."""
        self.write_recovery_points()
        self.write_log_starts()

    def _count_as_dirty(self, from_offsets: Mapping[TopicPartition, int]) -> None:
        """What comes in place of what is cut no cleaning has met. If it counted as cleaned, what it writes over would
        stay, and be there again when a tombstone in it has gone."""
        known = self.cleaner_offsets
        lowered = {name: offset for name, offset in from_offsets.items() if offset < known.get(name, 0)}
        if lowered:
            self.write_cleaner_offsets(known | lowered)

    def _read_offsets(self, name: str) -> dict[TopicPartition, int]:
        """A damaged checkpoint counts as none: a recovery point of 0 costs a scan, not data."""
        try:
            return self.checkpoints.read(name)
        except CorruptData as error:
            self.findings.append(f"{name}: {error}; ignored")
            return {}

    # Partitions.

    def create(self, partition: TopicPartition, *, now_ms: int, topic_id: UUID | None = None) -> Log:
        """A new, empty log. Its folder's name and its topic's id are durable when this returns."""
        creation = self.begin_create([NewPartition(partition, topic_id)], now_ms=now_ms)
        creation.run()
        return self.end_create(creation)[0]

    def begin_create(self, wanted: Sequence[NewPartition], *, now_ms: int) -> LogCreation:
        self.check_usable()
        for new in wanted:
            check_topic_name(new.partition.topic)
            check(new.partition.partition >= 0, f"partitions are not negative: {new.partition}")
            check(new.partition not in self.logs, f"{new.partition} is in {self.path} already")
        with_settings = [(new, self.settings_of(new.partition.topic)) for new in wanted]
        return LogCreation(self.filesystem, self.path, with_settings, now_ms, self.producer_id_expiration_ms)

    def end_create(self, creation: LogCreation) -> list[Log]:
        """`creation.run()` has returned: from now on the logs are ours."""
        if creation.failure is not None:
            raise self.failed(creation.failure) from creation.failure
        self.check_usable()
        for log in creation.logs:
            self._adopt(log)
        self.topic_ids |= creation.topic_ids
        return creation.logs

    def claim(self, partition: TopicPartition, topic_id: UUID) -> bool:
        """Whether the folder is of the topic with this id. One that names no topic becomes it."""
        if partition in self.topic_ids:
            return self.topic_ids[partition] == topic_id
        self.check_usable()
        path = f"{self.logs[partition].directory}/{PARTITION_METADATA}"
        try:
            replace_durably(self.filesystem, path, encode_partition_metadata(topic_id))
        except OSError as error:
            raise self.failed(error) from error
        self.topic_ids[partition] = topic_id
        return True

    def remove(self, partition: TopicPartition, *, token: str, now_ms: int) -> None:
        """Rename the folder away at once, so that the topic can be created again; remove the files later.

        `token` is 32 hexadecimal digits that no other removal has used.
        """
        self.remove_many({partition: token}, now_ms=now_ms)

    def remove_many(self, tokens: Mapping[TopicPartition, str], *, now_ms: int) -> None:
        """Each with a token of its own, with as few syncs as one needs."""
        gone = self._move_away({partition: deleted_folder(partition, token) for partition, token in tokens.items()})
        self.removals += [Delayed(now_ms, now_ms + log.settings.file_delete_delay_ms, folder) for log, folder in gone]

    def set_aside(self, partition: TopicPartition, *, token: str) -> None:
        """A folder of no topic that we know: nobody uses it any more, and nobody deletes it, as in Kafka."""
        self._move_away({partition: stray_folder(partition, token)})

    def _move_away(self, folders: Mapping[TopicPartition, str]) -> list[tuple[Log, str]]:
        self.check_usable()
        check(all(MOVED_FOLDER.fullmatch(folder) for folder in folders.values()), f"not tokens: {folders}")
        if not folders:
            return []
        gone = [(self.logs.pop(partition), f"{self.path}/{folder}") for partition, folder in folders.items()]
        self._forget_offsets(folders.keys())
        try:
            for log, target in gone:
                self.topic_ids.pop(log.partition, None)
                log.is_closed = True
                for segment in log.segments.all():
                    segment.forget()
                self.filesystem.rename(log.directory, target)
            self.filesystem.sync_directory(self.path)
        except OSError as error:
            raise self.failed(error) from error
        return gone

    def _forget_offsets(self, partitions: Collection[TopicPartition]) -> None:
        """A name may come back as a new, empty log, for which the old offsets would be a lie. Of those that go soon
        after they came no checkpoint promises anything yet, and none is written."""
        if self._rest_of(checkpoints.RECOVERY_POINT_CHECKPOINT, partitions) is not None:
            self.write_recovery_points()
        if self._rest_of(checkpoints.LOG_START_CHECKPOINT, partitions) is not None:
            self.write_log_starts()
        high_watermarks = self._rest_of(checkpoints.HIGH_WATERMARK_CHECKPOINT, partitions)
        if high_watermarks is not None:
            self.write_high_watermarks(high_watermarks)
        if self.cleaner_offsets.keys() & partitions:
            kept = {name: at for name, at in self.cleaner_offsets.items() if name not in partitions}
            self.write_cleaner_offsets(kept)

    def _rest_of(self, name: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int] | None:
        """A checkpoint without these; None if it promises nothing of them."""
        try:
            return self.checkpoints.without(name, partitions)
        except CorruptData:
            return {}  # it counts as none
        except OSError as error:
            raise self.failed(error) from error

    @property
    def next_removal_ms(self) -> int:
        """When the first delay has passed; never, while nothing waits."""
        folders_ms = self.removals[0].due_ms if self.removals else LONG_MAX
        segments_ms = [log.deletions.due[0].due_ms for log in self.logs.values() if log.deletions.due]
        return min([folders_ms, *segments_ms])

    def begin_removal(self, now_ms: int) -> RemovalWork | None:
        """Segments and folders whose delay has passed, for `run` in any thread to unlink; None if there are none."""
        segments = [
            segment for log in self.logs.values() if log.deletions for segment in log.deletions.take_due(now_ms)
        ]
        folders = take_over(self.removals, now_ms)
        return RemovalWork(self.filesystem, segments, folders) if segments or folders else None

    def remove_due_files(self, now_ms: int) -> None:
        """Unlink segments and folders whose delay has passed (SPEC C5), for callers that may wait for the disk."""
        self.check_usable()
        work = self.begin_removal(now_ms)
        try:
            if work is not None:
                work.run()
        except OSError as error:
            raise self.failed(error) from error

    # Checkpoints.

    def write_recovery_points(self) -> None:
        self._write_offsets(checkpoints.RECOVERY_POINT_CHECKPOINT, self._recovery_points())

    def write_log_starts(self) -> None:
        self._write_offsets(checkpoints.LOG_START_CHECKPOINT, self._log_starts())

    def write_high_watermarks(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        self._write_offsets(checkpoints.HIGH_WATERMARK_CHECKPOINT, high_watermarks)

    def write_cleaner_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.cleaner_offsets = dict(offsets)
        self._write_offsets(checkpoints.CLEANER_CHECKPOINT, dict(offsets))

    def read_high_watermarks(self) -> dict[TopicPartition, int]:
        return self._read_offsets(checkpoints.HIGH_WATERMARK_CHECKPOINT)

    def read_cleaner_offsets(self) -> dict[TopicPartition, int]:
        return self._read_offsets(checkpoints.CLEANER_CHECKPOINT)

    def begin_recovery_points(self) -> CheckpointWork | None:
        """As `write_recovery_points`, but the write is left to `run`, in any thread. None: it would change nothing."""
        return self.checkpoints.begin(checkpoints.RECOVERY_POINT_CHECKPOINT, self._recovery_points())

    def begin_log_starts(self) -> CheckpointWork | None:
        return self.checkpoints.begin(checkpoints.LOG_START_CHECKPOINT, self._log_starts())

    def begin_high_watermarks(self, high_watermarks: Mapping[TopicPartition, int]) -> CheckpointWork | None:
        return self.checkpoints.begin(checkpoints.HIGH_WATERMARK_CHECKPOINT, high_watermarks)

    def begin_cleaner_offsets(self) -> CheckpointWork | None:
        return self.checkpoints.begin(checkpoints.CLEANER_CHECKPOINT, dict(self.cleaner_offsets))

    def _recovery_points(self) -> dict[TopicPartition, int]:
        return {partition: log.recovery_point for partition, log in self.logs.items()}

    def _log_starts(self) -> dict[TopicPartition, int]:
        """Only those that lie inside a segment: the others are the first segment's name (as Kafka does)."""
        return {
            partition: log.log_start_offset
            for partition, log in self.logs.items()
            if log.log_start_offset > log.segments.first.base_offset
        }

    def _write_offsets(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        self.check_usable()
        try:
            self.checkpoints.write(name, offsets)
        except OSError as error:
            raise self.failed(error) from error

    # Life.

    def is_usable(self) -> bool:
        return self.failure is None

    def check_usable(self) -> None:
        if self.failure is not None:
            raise StorageFailed(f"{self.path} is offline: {self.failure}")

    def failed(self, error: OSError) -> StorageFailed:
        """Offline until the process starts again, and every log in here with it: one failed log means a failed disk."""
        if self.failure is None:
            self.failure = str(error)
            for log in self.logs.values():
                log.failed(error)
            self.has_failed(self)
        return StorageFailed(f"{self.path}: {error}")

    def close(self, *, now_ms: int) -> None:
        """A clean stop. The marker comes last: it vouches for everything before it."""
        try:
            if self.is_usable():
                self._close(now_ms)
        except OSError as error:
            raise self.failed(error) from error
        finally:
            self.release()

    def _close(self, now_ms: int) -> None:
        for log in self.logs.values():
            log.close(now_ms)
        self.write_recovery_points()
        self.write_log_starts()
        marker = f"{self.path}/{CLEAN_SHUTDOWN_MARKER}"
        replace_durably(self.filesystem, marker, encode_clean_shutdown(UNKNOWN_BROKER_EPOCH))

    def release(self) -> None:
        """Give up the lock. Without `close` before it this is no clean stop; in any case nothing may be used after."""
        for log in self.logs.values():
            log.is_closed = True
        if self._lock is not None:
            self._lock.close()
            self._lock = None
