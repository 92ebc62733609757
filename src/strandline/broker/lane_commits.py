"""Requests of a lane that wait until every in-sync replica has their records (SPEC R8).

The same as `WaitForCommit` of `handlers.produce`, for a whole run at once: one timer, one place among those who watch
the partition, and answers from the lane's template. In the order of the requests, for so their records were appended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from strandline.broker.connection import Connection
from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.produce_lane import LaneRequest, ProduceLane
from strandline.log.log_writer import Appended
from strandline.model.failures import ErrorCode
from strandline.wire.messages.produce import PartitionProduceResponse
from strandline.wire.produce import encode_produce_response


class LaneCommits:
    __slots__ = ("_lane", "_log_start_offset", "_timer", "_waiting", "requests")

    def __init__(
        self,
        lane: ProduceLane,
        correlation_ids: Sequence[int],
        outcomes: Sequence[Appended],
        connection: Connection,
        host: Host,
    ) -> None:
        partition = lane.partition
        self._lane = lane
        self._log_start_offset = partition.log.log_start_offset
        self.requests = [LaneRequest(connection, lane, correlation_id) for correlation_id in correlation_ids]
        self._waiting = deque(zip(self.requests, outcomes, strict=True))
        while self._waiting[0][1].last_offset < partition.high_watermark:  # the last is not committed
            request, outcome = self._waiting.popleft()
            request.parts = [self._answer(request, outcome)]
        self._timer = host.call_later(max(0, lane.timeout_ms), self._time_is_up)
        partition.watch(self)

    def partition_moved(self, partition: Partition) -> None:
        waiting, high_watermark = self._waiting, partition.high_watermark
        while waiting and waiting[0][1].last_offset < high_watermark:
            request, outcome = waiting.popleft()
            request.deliver([self._answer(request, outcome)])
        if not waiting:
            self._end()
        elif partition.leader is None:
            self._fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif not partition.leader.has_enough_replicas:
            self._fail(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        elif partition.log.failure is not None:
            self._fail(ErrorCode.KAFKA_STORAGE_ERROR)

    def _answer(self, request: LaneRequest, outcome: Appended) -> bytes:
        return self._lane.answer_to(request.correlation_id, outcome, self._log_start_offset)

    def _time_is_up(self) -> None:
        self._fail(ErrorCode.REQUEST_TIMED_OUT)

    def _fail(self, error_code: ErrorCode) -> None:
        """What was written may yet be committed, or not: the producer has to find out."""
        self._end()
        partition = self._lane.partition
        for request, outcome in self._waiting:
            if outcome.last_offset < partition.high_watermark:  # a duplicate, after one that is not committed
                request.deliver([self._answer(request, outcome)])
                continue
            place = -1, outcome.log_append_time_ms, self._log_start_offset
            result = PartitionProduceResponse(partition.name.partition, error_code, *place)
            request.answer(encode_produce_response(self._lane.version, self._lane.response(result)))
        self._waiting.clear()

    def _end(self) -> None:
        self._timer.cancel()
        self._lane.partition.unwatch(self)
