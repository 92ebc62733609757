"""All of a broker's housekeeping, begun and ended together.

    retention            every `log.retention.check.interval.ms`
    compaction           all the time, with pauses of `log.cleaner.backoff.ms`
    flushes              when a log asks for it, and by `flush.ms`
    checkpoints          each at its interval
    idle producers       forgotten every `producer.id.expiration.check.interval.ms`
    deleted files        unlinked when their time has come

A stop cancels the timers, lets no thread begin anything, and waits for those that have begun. Then the logs can be
closed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from strandline.broker.configuration import Configuration
from strandline.broker.host import Host
from strandline.broker.housekeeping.background import Background
from strandline.broker.housekeeping.checkpoint_writes import CheckpointWrites
from strandline.broker.housekeeping.flusher import Flusher
from strandline.broker.housekeeping.log_cleaner import LogCleaner
from strandline.broker.housekeeping.removals import Removals
from strandline.broker.housekeeping.repeating import Repeating
from strandline.broker.housekeeping.retention_rounds import Retention
from strandline.broker.housekeeping.rounds import Rounds, Visit
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.log.log_directories import LogDirectories
from strandline.model.failures import StorageFailed
from strandline.model.settings import LogDirectorySettings, ProducerStateSettings


class Housekeeping:
    def __init__(
        self, host: Host, configuration: Configuration, directories: LogDirectories, partitions: Partitions
    ) -> None:
        self._host = host
        self._configuration = configuration
        self._directories = directories
        settings = configuration.of_broker(LogDirectorySettings)
        self._producer_settings = configuration.of_broker(ProducerStateSettings)
        self.background = Background(host)
        self.flusher = Flusher(host, self.background, directories, partitions, settings)
        self.checkpoints = CheckpointWrites(self.background, directories, partitions)
        self.cleaner = LogCleaner(host, self.background, self.checkpoints, configuration, directories, partitions)
        self.removals = Removals(host, self.background, directories)
        self.retention = Rounds(host, partitions, Retention(host, self.background).visit)
        self.producer_expiry = Rounds(host, partitions, self._expire_producers)
        self._timers = self._make_timers(settings)

    def _make_timers(self, settings: LogDirectorySettings) -> list[Repeating]:
        def repeating(task: Callable[[], object], interval_ms: int) -> Repeating:
            return Repeating(self._host, task, lambda: interval_ms, settings.initial_task_delay_ms)

        return [
            repeating(self.retention.begin, settings.retention_check_interval_ms),
            repeating(self._begin_producer_expiry, self._producer_settings.producer_id_expiration_check_interval_ms),
            repeating(self.checkpoints.recovery_points, settings.flush_offset_checkpoint_interval_ms),
            repeating(self.checkpoints.log_starts, settings.flush_start_offset_checkpoint_interval_ms),
            repeating(self.checkpoints.high_watermarks, settings.high_watermark_checkpoint_interval_ms),
            Repeating(self._host, self.removals.check, self.removals.interval_ms),
            Repeating(self._host, self.flusher.check, self.flusher.check_interval_ms),
        ]

    def start(self) -> None:
        for directory in self._directories.online():
            directory.checkpoints.turn = threading.Lock()
            directory.flush_wanted = self.flusher.want
        self.flusher.check()  # what a crash left unflushed is not committed before it is
        for timer in self._timers:
            timer.start()
        self.cleaner.start()

    def stop(self, when_stopped: Callable[[], object]) -> None:
        for timer in self._timers:
            timer.stop()
        self.retention.stop()
        self.producer_expiry.stop()
        self.cleaner.stop()
        self.background.stop(when_stopped)

    def write_last_high_watermarks(self) -> None:
        """When everything has stopped, before the logs are closed. A directory that fails now has told of it, and is
        not marked as clean: the others are."""
        for directory in self._directories.online():
            with suppress(StorageFailed):
                directory.write_high_watermarks(self.checkpoints.high_watermarks_in(directory))

    def _begin_producer_expiry(self) -> None:
        self._producer_settings = self._configuration.of_broker(ProducerStateSettings)
        self.producer_expiry.begin()

    def _expire_producers(self, partition: Partition, _go_on: Callable[[], None]) -> Visit:
        partition.log.producer_id_expiration_ms = self._producer_settings.producer_id_expiration_ms
        partition.log.expire_producers(self._host.now_ms())
        return Visit.DONE
