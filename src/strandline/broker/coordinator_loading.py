"""Reading a partition of `__consumer_offsets` or `__transaction_state` into a new shard.

It may be much, and cold: it goes in chunks, each read and applied in a thread, while the shard is nobody else's yet.
Between two chunks the owner's thread looks whether the partition is still ours. One partition is loaded at a time:
more would only make the threads wait for one another, and the event loop for them all.

A batch whose CRC is wrong, a record that cannot be read: passed over and told, for all behind it can be had. Where it
cannot be told where the next batch begins, the partition is not served, as in Kafka: what lies behind could be the end
of a group or the commit of a transaction.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.log.log_slice import LogSlice
from strandline.model.failures import CorruptData, StorageFailed
from strandline.records.batch import Buffer

logger = logging.getLogger(__name__)

Loaded = Callable[[str | None], object]
Damaged = Callable[[str], object]
# Applies every whole batch in these bytes; gives the offset after the last of them, None where there is none.
Replay = Callable[[Buffer, Damaged], int | None]


class Loading:
    """One partition on its way. `done` hears why it could not be read, None if it could; nothing after `cancel`."""

    def __init__(self, partition: Partition, what: str, replay: Replay, done: Loaded) -> None:
        """`what` is loaded, in a word for the log. `replay` runs in a thread."""
        self.partition = partition
        self.what = what
        self.replay = replay
        self.done = done
        self.is_cancelled = False
        self.next_offset = partition.log.log_start_offset
        self.end_offset = partition.log.log_end_offset

    def cancel(self) -> None:
        self.is_cancelled = True

    def read(self, max_bytes: int) -> LogSlice:
        """The next chunk; empty at the end, which in a compacted log may come before the last offset (KAFKA-9065)."""
        log = self.partition.log
        self.next_offset = max(self.next_offset, log.log_start_offset)
        return log.read(min(self.next_offset, self.end_offset), max_bytes, max_offset=self.end_offset)

    def place_of(self, chunk: LogSlice) -> str:
        segment = self.partition.log.segments.holding(self.next_offset)
        return f"{self.partition.log.directory}/{segment}: in {chunk.length} bytes from position {chunk.position} on"

    def damaged(self, what: str) -> None:
        logger.error("%s: passed over while loading %s: %s", self.partition.name, self.what, what)


class LoadingQueue:
    def __init__(self, host: Host, chunk_bytes: int) -> None:
        self._host = host
        self._chunk_bytes = chunk_bytes
        self._waiting: deque[Loading] = deque()
        self._is_busy = False

    def load(self, loading: Loading) -> None:
        """Begins later, for itself: what goes wrong is none of the caller's business."""
        self._waiting.append(loading)
        if not self._is_busy:
            self._is_busy = True
            self._host.call_soon(self._begin_next)

    def _begin_next(self) -> None:
        self._is_busy = bool(self._waiting)
        if self._waiting:
            self._continue(self._waiting.popleft())

    def _continue(self, loading: Loading) -> None:
        if loading.is_cancelled:
            self._end(loading)
            return
        try:
            chunk = loading.read(self._chunk_bytes)
        except Exception as failure:  # rot, a disk that fails, a bug: the partitions behind it must not wait for ever
            self._failed(loading, failure)
            return
        if not chunk.length:
            self._end(loading)
            return
        self._host.run_in_thread(partial(_replay_chunk, loading, chunk), partial(self._replayed, loading, chunk))

    def _replayed(self, loading: Loading, chunk: LogSlice, done: Future[int | None]) -> None:
        try:
            next_offset = done.result()
            if next_offset is None or next_offset <= loading.next_offset:
                raise CorruptData(f"no batch begins at offset {loading.next_offset}")
        except OSError as error:
            self._failed(loading, loading.partition.log.failed_to_read(error))
        except CorruptData as damage:
            self._failed(loading, CorruptData(f"{loading.place_of(chunk)}: {damage}"))
        except Exception as failure:  # a bug must not leave its clients waiting for ever
            self._failed(loading, failure)
        else:
            loading.next_offset = next_offset
            self._continue(loading)

    def _failed(self, loading: Loading, failure: Exception) -> None:
        if not loading.is_cancelled:
            is_foreseen = isinstance(failure, StorageFailed | CorruptData)
            advice = ""
            if isinstance(failure, CorruptData):
                advice = f". See strandline log check {loading.partition.log.directory}; another replica may be sound"
            logger.error(
                "the %s of %s could not be loaded, and are not served: %s%s",
                loading.what, loading.partition.name, failure, advice, exc_info=None if is_foreseen else failure,
            )  # fmt: skip
        self._end(loading, f"the {loading.what} of {loading.partition.name} could not be loaded: {failure}")

    def _end(self, loading: Loading, fault: str | None = None) -> None:
        self._host.call_soon(self._begin_next)
        if not loading.is_cancelled:
            loading.done(fault)


def _replay_chunk(loading: Loading, chunk: LogSlice) -> int | None:
    return loading.replay(chunk.read(), loading.damaged)
