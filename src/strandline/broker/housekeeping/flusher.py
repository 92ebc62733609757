"""Flushing in the broker: what a crash of the machine can take is bounded where the settings say so (SPEC L9).

A log is flushed when it has `flush.messages` records that are not, when the last flush is `flush.ms` ago, and, up to
the new one, when it begins a segment: so that a recovery reads little, and so that the next roll finds its names on
the disk. Threads do the waiting, a few at once; one log is never flushed by two of them.

Kafka flushes by `flush.messages` before it answers. Here records beyond that count are not committed until they are on
the disk (`Partition`), so an answer with acks=all says the same as Kafka's, and nobody waits in the event loop.
"""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial

from strandline.broker.host import Host
from strandline.broker.housekeeping.background import Background
from strandline.broker.partitions import Partitions
from strandline.log.flush import FlushWork
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.model.settings import LogDirectorySettings

FLUSHES_AT_ONCE = 4  # of the threads that the metadata store and others want too
CHECK_MS_MIN, CHECK_MS_MAX = 50, 10_000


class Flusher:
    def __init__(
        self,
        host: Host,
        background: Background,
        directories: LogDirectories,
        partitions: Partitions,
        settings: LogDirectorySettings,
    ) -> None:
        self._host = host
        self._background = background
        self._directories = directories
        self._partitions = partitions
        self._scheduler_interval_ms = settings.flush_scheduler_interval_ms
        self._wanted: dict[Log, int] = {}  # up to which offset, in the order in which they were asked for
        self._under_way: set[Log] = set()

    # By time.

    def check_interval_ms(self) -> float:
        """Often enough for the shortest `flush.ms`. In Kafka it has no effect unless the broker's interval is set."""
        shortest_ms = min((log.settings.flush_ms for log in self._logs()), default=CHECK_MS_MAX)
        return min(CHECK_MS_MAX, max(CHECK_MS_MIN, min(shortest_ms // 2, self._scheduler_interval_ms)))

    def check(self) -> None:
        now_ms = self._host.now_ms()
        for log in self._logs():
            if log.failure is None and log.flush_is_due(now_ms):
                self.want(log, log.log_end_offset)

    def _logs(self) -> list[Log]:
        return [log for directory in self._directories.online() for log in directory.logs.values()]

    # When asked.

    def want(self, log: Log, up_to_offset: int) -> None:
        """Soon, and not inside the call: the log may be in the midst of an append."""
        if log not in self._wanted:
            if not self._wanted:
                self._host.call_soon(self._begin)
            self._wanted[log] = up_to_offset
        elif up_to_offset > self._wanted[log]:
            self._wanted[log] = up_to_offset

    def _begin(self) -> None:
        for log in [log for log in self._wanted if log not in self._under_way]:
            if len(self._under_way) >= FLUSHES_AT_ONCE or self._background.is_stopping:
                return
            up_to_offset = self._wanted.pop(log)
            if log.failure is None and not log.is_closed and is_wanted(log, up_to_offset):
                self._begin_one(log, min(up_to_offset, log.log_end_offset))

    def _begin_one(self, log: Log, up_to_offset: int) -> None:
        work = log.begin_flush(up_to_offset)
        self._under_way.add(log)
        self._background.run(work.run, partial(self._end, log, work))

    def _end(self, log: Log, work: FlushWork, done: Future[None]) -> None:
        self._under_way.discard(log)
        failure = done.exception()
        if isinstance(failure, OSError):
            log.failed(failure)
        elif failure is not None:
            raise failure
        else:
            log.end_flush(work, self._host.now_ms())
            partition = self._partitions.find(log.partition)
            if partition is not None and partition.log is log:
                partition.was_flushed()
        self._begin()


def is_wanted(log: Log, up_to_offset: int) -> bool:
    """Where all records are on the disk, the indexes of a segment that was finished since may not be as they are now:
    with room for entries that never came, say, which is zeros to whoever finds them after a loss of power."""
    return up_to_offset > log.recovery_point or log.has_unflushed_files
