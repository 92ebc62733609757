"""All data directories of a broker (`log.dirs`): where new partitions go, what goes on when one fails (SPEC L10)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from uuid import UUID

from strandline.log.creation import LogCreation, NewPartition
from strandline.log.filesystem import FileSystem
from strandline.log.log import Log
from strandline.log.log_directory import LogDirectory, Progress, SettingsOf
from strandline.model.failures import StorageFailed
from strandline.model.partitions import TopicPartition
from strandline.model.settings import DAY_MS

PARTS_MAX = 4  # of what is created at a time in one directory
PARTITIONS_PER_PART_MIN = 16


class LogDirectories:
    """The directories in the order of `log.dirs`, the failed ones among them."""

    def __init__(self, directories: Sequence[LogDirectory]) -> None:
        self.directories = list(directories)

    @classmethod
    def open(
        cls,
        filesystem: FileSystem,
        paths: Sequence[str],
        settings_of: SettingsOf,
        *,
        now_ms: int,
        progress: Progress | None = None,
        producer_id_expiration_ms: int = DAY_MS,
    ) -> LogDirectories:
        """Directories that fail are kept as offline ones; with none left there is nothing to serve."""
        opened: list[LogDirectory] = []
        try:
            for path in paths:
                directory = LogDirectory.open(
                    filesystem,
                    path,
                    settings_of,
                    now_ms=now_ms,
                    progress=progress,
                    producer_id_expiration_ms=producer_id_expiration_ms,
                )
                opened.append(directory)
        except BaseException:
            for directory in opened:
                directory.release()
            raise
        directories = cls(opened)
        if not directories.online():
            raise StorageFailed("; ".join(f"{each.path}: {each.failure}" for each in opened))
        return directories

    def online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.is_usable()]

    def may_be_offline(self, partition: TopicPartition) -> bool:
        """It is not among those that can be read. To create it anew elsewhere would hide what it holds."""
        return self.directory_of(partition) is None and len(self.online()) < len(self.directories)

    def read_high_watermarks(self) -> dict[TopicPartition, int]:
        """Of all directories that can be read, each of the logs that it has."""
        return {
            partition: offset
            for directory in self.online()
            for partition, offset in directory.read_high_watermarks().items()
            if partition in directory.logs
        }

    def directory_of(self, partition: TopicPartition) -> LogDirectory | None:
        return next((each for each in self.directories if partition in each.logs), None)

    def log_of(self, partition: TopicPartition) -> Log | None:
        directory = self.directory_of(partition)
        return directory.logs[partition] if directory else None

    def create(self, partition: TopicPartition, *, now_ms: int, topic_id: UUID | None = None) -> Log:
        """In the directory with the fewest partitions, as Kafka places them."""
        (creation,) = self.begin_create([NewPartition(partition, topic_id)], now_ms=now_ms)
        creation.run()
        return self.end_create(creation)[0]

    def begin_create(self, wanted: Sequence[NewPartition], *, now_ms: int) -> list[LogCreation]:
        """Many, each placed so; in a few parts, for as many threads: a disk syncs for several at a time."""
        online = self.online()
        if not online:
            raise StorageFailed("every log directory is offline")
        placed: list[list[NewPartition]] = [[] for _ in online]
        for new in wanted:
            emptiest = min(range(len(online)), key=lambda index: len(online[index].logs) + len(placed[index]))
            placed[emptiest].append(new)
        return [
            directory.begin_create(part, now_ms=now_ms)
            for directory, of_directory in zip(online, placed, strict=True)
            for part in _parts(of_directory)
        ]

    def end_create(self, creation: LogCreation) -> list[Log]:
        directory = next(each for each in self.directories if each.path == creation.path)
        return directory.end_create(creation)

    def remember_producers_for(self, expiration_ms: int) -> None:
        """Every log, and those to come."""
        for directory in self.directories:
            directory.producer_id_expiration_ms = expiration_ms
            for log in directory.logs.values():
                log.producer_id_expiration_ms = expiration_ms

    def close(self, *, now_ms: int) -> None:
        """Each on its own: a directory that fails on the way out must not cost the others their clean stop."""
        for directory in self.directories:
            with suppress(StorageFailed):
                directory.close(now_ms=now_ms)


def _parts(wanted: list[NewPartition]) -> list[list[NewPartition]]:
    size = max(PARTITIONS_PER_PART_MIN, -(-len(wanted) // PARTS_MAX))
    return [wanted[start : start + size] for start in range(0, len(wanted), size)]
