"""An answer that comes when every in-sync replica has what a partition's log has now, or cannot any more."""

from __future__ import annotations

from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.metadata.answer import Answer
from strandline.model.failures import ErrorCode


def committed(partition: Partition, end_offset: int, host: Host, timeout_ms: int) -> Answer[ErrorCode]:
    """NONE once everything below `end_offset` is committed in this leader epoch, else why it is not known to be."""
    watch = CommitWatch(partition, end_offset, host)
    watch.look()
    if not watch.answer.is_ready:
        watch.wait(timeout_ms)
    return watch.answer


class CommitWatch:
    def __init__(self, partition: Partition, end_offset: int, host: Host) -> None:
        self.answer: Answer[ErrorCode] = Answer()
        self._partition = partition
        self._end_offset = end_offset
        self._leader_epoch = partition.leader_epoch
        self._host = host

    def wait(self, timeout_ms: int) -> None:
        self._timer = self._host.call_later(timeout_ms, lambda: self._end(ErrorCode.REQUEST_TIMED_OUT))
        self._partition.watch(self)

    def partition_moved(self, _: Partition) -> None:
        self._host.call_soon(self._look_again)

    def _look_again(self) -> None:
        if not self.answer.is_ready:
            self.look()
            if self.answer.is_ready:
                self._let_go()

    def look(self) -> None:
        partition = self._partition
        if partition.leader is None or partition.leader_epoch != self._leader_epoch:
            self.answer.deliver(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif partition.log.failure is not None:
            self.answer.deliver(ErrorCode.KAFKA_STORAGE_ERROR)
        elif partition.high_watermark >= self._end_offset:
            self.answer.deliver(ErrorCode.NONE)

    def _end(self, error_code: ErrorCode) -> None:
        if not self.answer.is_ready:
            self._let_go()
            self.answer.deliver(error_code)

    def _let_go(self) -> None:
        self._timer.cancel()
        self._partition.unwatch(self)
