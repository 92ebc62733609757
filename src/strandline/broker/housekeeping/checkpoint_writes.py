"""The checkpoints of the data directories, each at its interval (SPEC L8).

    recovery points     `log.flush.offset.checkpoint.interval.ms`
    log starts          `log.flush.start.offset.checkpoint.interval.ms`
    high watermarks     `replica.high.watermark.checkpoint.interval.ms`

The offsets are noted in the owner's thread; another one writes and syncs the file. What has not changed is not written.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from strandline.broker.housekeeping.background import Background
from strandline.broker.partitions import Partitions
from strandline.log.directory_checkpoints import CheckpointWork
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import LogDirectory
from strandline.model.partitions import TopicPartition


class CheckpointWrites:
    def __init__(self, background: Background, directories: LogDirectories, partitions: Partitions) -> None:
        self._background = background
        self._directories = directories
        self._partitions = partitions

    def recovery_points(self) -> None:
        self._write(LogDirectory.begin_recovery_points)

    def log_starts(self) -> None:
        self._write(LogDirectory.begin_log_starts)

    def high_watermarks(self) -> None:
        self._write(lambda directory: directory.begin_high_watermarks(self.high_watermarks_in(directory)))

    def cleaner_offsets(self, directory: LogDirectory) -> None:
        self._write_one(directory, directory.begin_cleaner_offsets())

    def high_watermarks_in(self, directory: LogDirectory) -> dict[TopicPartition, int]:
        found = ((name, self._partitions.find(name)) for name in directory.logs)
        return {name: partition.high_watermark for name, partition in found if partition is not None}

    def _write(self, begin: Callable[[LogDirectory], CheckpointWork | None]) -> None:
        for directory in self._directories.online():
            self._write_one(directory, begin(directory))

    def _write_one(self, directory: LogDirectory, work: CheckpointWork | None) -> None:
        if work is not None:
            self._background.run(work.run, partial(fail_on_error, directory))


def fail_on_error(directory: LogDirectory, done: Future[None]) -> None:
    failure = done.exception()
    if isinstance(failure, OSError):
        directory.failed(failure)
    elif failure is not None:
        raise failure
