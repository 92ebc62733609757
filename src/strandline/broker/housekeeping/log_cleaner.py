"""The log cleaner: compacts, all the time, the log that needs it most (SPEC C6).

`log.cleaner.threads` compactions run at once. When one has ended the next is chosen at once, by what every log looks
like then; when none is worth it, or one failed, the cleaner waits `log.cleaner.backoff.ms`. The long part of a
compaction runs in a thread, slowed down to its share of `log.cleaner.io.max.bytes.per.second`; only choosing,
planning and putting the result in place happen in the thread that owns the logs.

A log that cannot be compacted, because its bytes are damaged or for a reason nobody foresaw, is left alone until the
next start (KIP-346). The others go on.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from functools import partial

from strandline.broker.configuration import Configuration
from strandline.broker.host import Host, Timer
from strandline.broker.housekeeping.background import Background
from strandline.broker.housekeeping.checkpoint_writes import CheckpointWrites
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.log.cleanable import Cleanability, cleanability_of, filthiest
from strandline.log.compaction import Compaction, CompactionAbandoned
from strandline.log.io_throttle import IoThrottle
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.log.log_directory import LogDirectory
from strandline.log.segment_view import LogView
from strandline.model.failures import CorruptData, StorageFailed
from strandline.model.settings import CleanerSettings

logger = logging.getLogger(__name__)


class LogCleaner:
    def __init__(
        self,
        host: Host,
        background: Background,
        checkpoints: CheckpointWrites,
        configuration: Configuration,
        directories: LogDirectories,
        partitions: Partitions,
    ) -> None:
        self._host = host
        self._background = background
        self._checkpoints = checkpoints
        self._configuration = configuration
        self._directories = directories
        self._partitions = partitions
        self._under_way: set[Partition] = set()
        self._uncleanable: set[Log] = set()
        self._stopping = threading.Event()
        self._timer: Timer | None = None

    @property
    def settings(self) -> CleanerSettings:
        return self._configuration.of_broker(CleanerSettings)

    def start(self) -> None:
        self._configuration.when_changed(self._wait)  # for a backoff that is another now
        self._wait()

    def stop(self) -> None:
        """Compactions under way stop at the next chance and leave their logs as they were."""
        self._stopping.set()
        self._cancel_timer()

    def uncleanable(self) -> list[str]:
        """The partitions that are left alone."""
        return sorted(str(log.partition) for log in self._uncleanable if not log.is_closed)

    def under_way(self) -> list[str]:
        return sorted(str(partition.name) for partition in self._under_way)

    # Choosing.

    def _wait(self) -> None:
        self._cancel_timer()
        if not self._stopping.is_set():
            self._timer = self._host.call_later(max(1, self.settings.backoff_ms), self.begin)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def begin(self) -> None:
        """Give every free thread the log that needs it most."""
        settings = self.settings
        while settings.enable and len(self._under_way) < settings.threads and not self._stopping.is_set():
            candidates = self._candidates()
            partition = filthiest((partition, found) for partition, found in candidates.items())
            if partition is None or not self._compact(partition, candidates[partition], settings):
                break
        self._wait()

    def _candidates(self) -> dict[Partition, Cleanability]:
        found: dict[Partition, Cleanability] = {}
        names_under_way = {partition.name for partition in self._under_way}  # a new log of an old name has to wait
        for partition in self._partitions:
            if self._may_be_cleanable(partition.log) and partition.name not in names_under_way:
                directory = self._directories.directory_of(partition.name)
                cleanability = None if directory is None else self._judge(partition, directory)
                if cleanability is not None:
                    found[partition] = cleanability
        return found

    def _may_be_cleanable(self, log: Log) -> bool:
        """What can be told of thousands of logs at a glance."""
        if not log.settings.compacts or len(log.segments) == 1:
            return False
        return log.failure is None and not log.is_closed and log not in self._uncleanable

    def _judge(self, partition: Partition, directory: LogDirectory) -> Cleanability | None:
        view = LogView.of(
            partition.log,
            now_ms=self._host.now_ms(),
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.last_stable_offset,
        )
        try:
            return cleanability_of(view, directory.cleaner_offsets.get(partition.name))
        except OSError as error:
            partition.log.failed_to_read(error)
        except CorruptData as damage:
            self._leave_alone(partition, str(damage))
        return None

    # Compacting.

    def _compact(self, partition: Partition, found: Cleanability, settings: CleanerSettings) -> bool:
        try:
            compaction = Compaction.plan(
                partition.log,
                settings,
                first_dirty_offset=found.first_dirty_offset,
                uncleanable_offset=found.first_uncleanable_offset,
                now_ms=self._host.now_ms(),
            )
        except CorruptData as damage:
            self._leave_alone(partition, str(damage))
            return True
        except StorageFailed:
            return True
        if compaction is None:
            return False
        self._under_way.add(partition)
        throttle = IoThrottle(settings.io_max_bytes_per_second / settings.threads, time.monotonic, self._stopping.wait)
        run = partial(compaction.run, throttle=throttle, should_stop=lambda: self._must_stop(partition))
        self._background.run(run, partial(self._ran, partition, compaction))
        return True

    def _must_stop(self, partition: Partition) -> bool:
        """Asked in the compaction's thread."""
        return self._stopping.is_set() or partition.log.is_closed or partition.log.failure is not None

    def _ran(self, partition: Partition, compaction: Compaction, done: Future[None]) -> None:
        failure = done.exception()
        if failure is None:
            self._background.hold()
            self._finish(partition, compaction)
            return
        self._under_way.discard(partition)
        if isinstance(failure, OSError):
            partition.log.failed_to_read(failure)
        elif isinstance(failure, CorruptData):
            self._leave_alone(partition, str(failure))
        elif not isinstance(failure, CompactionAbandoned):
            logger.error("the compaction of %s failed", partition.name, exc_info=failure)
            self._leave_alone(partition, "of a mistake of ours")
        self._wait()

    def _finish(self, partition: Partition, compaction: Compaction) -> None:
        """One segment in a turn of the event loop: each syncs a few names."""
        try:
            if self._finish_next(partition, compaction):
                self._host.call_soon(lambda: self._finish(partition, compaction))
                return
        except StorageFailed:
            pass  # which its directory has told everybody
        except Exception:
            logger.exception("the compaction of %s could not be finished", partition.name)
            self._leave_alone(partition, "of a mistake of ours")
        self._under_way.discard(partition)
        self._background.release()
        self.begin()

    def _finish_next(self, partition: Partition, compaction: Compaction) -> bool:
        log, directory = partition.log, self._directories.directory_of(partition.name)
        if log.is_closed or directory is None or directory.logs.get(partition.name) is not log:
            compaction.abandon()  # the topic was deleted
            return False
        if compaction.finish_next(log, now_ms=self._host.now_ms()):
            return True
        if compaction.next_dirty_offset is not None:
            counts = compaction.counts
            logger.info(
                "%s is compacted up to offset %d: of %d records %d stay",
                partition.name, compaction.next_dirty_offset, counts.records_read, counts.records_written,
            )  # fmt: skip
            directory.cleaner_offsets[partition.name] = compaction.next_dirty_offset
            self._checkpoints.cleaner_offsets(directory)
        return False

    def _leave_alone(self, partition: Partition, reason: str) -> None:
        self._uncleanable.add(partition.log)
        logger.error("%s is not compacted until the next start, because %s", partition.name, reason)
