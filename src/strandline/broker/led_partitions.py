"""The partitions of a coordinator's topic that this broker leads, each with its shard.

Whoever changes leadership calls `became_leader` and `resigned`, of any partition; those of other topics mean nothing
here. A new leadership begins with a new shard, into which the log is read. What was led before is over for good.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from strandline.broker.coordinator_loading import Loading, LoadingQueue, Replay
from strandline.broker.partition import Partition
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.records.batch import Buffer
from strandline.replication.leader import ACKS_ALL


class Led(Protocol):
    @property
    def partition(self) -> Partition: ...
    def could_not_load(self) -> None: ...
    def resign(self) -> None: ...


L = TypeVar("L", bound=Led)


class LedPartitions(Generic[L]):
    def __init__(
        self,
        topic: str,
        what: str,
        queue: LoadingQueue,
        begin: Callable[[Partition], tuple[L, Replay]],
        loaded: Callable[[L], object],
    ) -> None:
        """`what` is in the topic, in a word for the log; `loaded` hears of what has been read as a whole."""
        self._topic = topic
        self._what = what
        self._queue = queue
        self._begin = begin
        self._when_loaded = loaded
        self._led: dict[int, L] = {}
        self._loadings: dict[int, Loading] = {}
        self._faults: dict[int, str] = {}  # of those that could not be loaded

    def became_leader(self, partition: Partition) -> None:
        """Again after a new election."""
        if partition.name.topic != self._topic:
            return
        self.resigned(partition)
        index = partition.name.partition
        led, replay = self._begin(partition)
        self._led[index] = led
        if partition.log.log_start_offset == partition.log.log_end_offset:
            self._loaded(led, None)
            return
        self._loadings[index] = Loading(partition, self._what, replay, partial(self._loaded, led))
        self._queue.load(self._loadings[index])

    def resigned(self, partition: Partition) -> None:
        """The partition is another broker's now, or nobody's."""
        if partition.name.topic != self._topic:
            return
        self._faults.pop(partition.name.partition, None)
        loading = self._loadings.pop(partition.name.partition, None)
        if loading is not None:
            loading.cancel()
        led = self._led.pop(partition.name.partition, None)
        if led is not None:
            led.resign()

    def close(self) -> None:
        """Nothing is appended any more; whoever waits is told to look elsewhere."""
        for led in self.all():
            self.resigned(led.partition)

    @property
    def is_loading(self) -> bool:
        return bool(self._loadings)

    def get(self, index: int) -> L | None:
        return self._led.get(index)

    def fault_of(self, index: int) -> str | None:
        """Why a partition that is led here is not served."""
        return self._faults.get(index)

    def all(self) -> list[L]:
        return list(self._led.values())

    def _loaded(self, led: L, fault: str | None) -> None:
        self._loadings.pop(led.partition.name.partition, None)
        if fault is None:
            self._when_loaded(led)
        else:
            self._faults[led.partition.name.partition] = fault
            led.could_not_load()


def append_decided(
    partition: Partition, batches: Sequence[Buffer], now_ms: int, when_failed: Callable[[], object]
) -> int:
    """Records that a shard has decided. Gives the offset of the first; the others follow it without a gap.

    Raises Refused; `when_failed` is called if the disk fails, after which nothing can be decided any more.
    """
    partition.check_leader()
    assert partition.leader is not None
    partition.leader.check_append(ACKS_ALL)
    base_offset = partition.log.log_end_offset
    try:
        outcomes = partition.append(batches, now_ms, from_client=False)
    except StorageFailed as failure:
        when_failed()
        raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, str(failure)) from failure
    for outcome in outcomes:
        if isinstance(outcome, Refused):
            raise outcome
    return base_offset
