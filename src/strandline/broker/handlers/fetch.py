"""Fetch, v4-v18: slices of log files from offsets on; a long poll where there is too little yet (SPEC L6, P1, P5).

An answer has at most `max_bytes`, and of each partition at most its own limit, except that the first batch is always
given whole: a consumer must be able to get past a batch that is larger than its limits (KIP-74).

A request that finds less than `min_bytes` waits on its partitions. When the high watermark of one moves, it looks
again at once; when its time is up, it takes what there is. This is for consumers: what followers ask is the matter of
`follower_fetches`.
"""

from __future__ import annotations

from collections.abc import Mapping

from strandline.broker.connection import Connection, Part
from strandline.broker.dispatch import Body, Instead, Request
from strandline.broker.fetch_answers import diverging_epoch, partition_of, partitions_of, placed, topic_response
from strandline.broker.fetch_lane import FetchLane, fetch_lane_of
from strandline.broker.fetch_sessions import FetchContext, FetchSessions, FollowedPartition, TopicKey
from strandline.broker.follower_fetches import FollowerFetches
from strandline.broker.host import Host
from strandline.broker.long_polls import LongPoll
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.log.log_slice import LogSlice
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.wire.fetch_request import decode_fetch_request
from strandline.wire.fetch_response import encode_fetch_response
from strandline.wire.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

READ_COMMITTED = 1
NO_FRAME = memoryview(b"")
NO_CONTEXT = FetchContext([])  # of whoever makes it when it is needed
Answers = list[tuple[FollowedPartition, PartitionData]]


class FetchHandler:
    def __init__(
        self,
        partitions: Partitions,
        sessions: FetchSessions,
        live_brokers: Mapping[int, int],
        quotas: ReplicationQuotas,
        host: Host,
        fetch_max_bytes: int,
    ) -> None:
        self._partitions = partitions
        self._sessions = sessions
        self._followers = FollowerFetches(partitions, sessions, live_brokers, quotas, host, fetch_max_bytes)
        self.host = host
        self._fetch_max_bytes = fetch_max_bytes

    def __call__(self, request: Request) -> Body | Instead:
        asked = decode_fetch_request(request.api_version, request.body)
        if asked.replica_state.replica_id >= 0:
            return self._followers.answer(request, asked)
        try:
            context = self.context(request.api_version, asked)
        except Refused as refused:
            return encode_fetch_response(request.api_version, FetchResponse(error_code=refused.error_code))
        answers, is_enough = self.read(context, asked)
        if context.session is None and len(asked.topics) == 1 and len(asked.topics[0].partitions) == 1:
            self._open_lane(request, asked, answers[0][0])
        if is_enough or asked.max_wait_ms <= 0:
            return self.body(request.api_version, context, answers)
        watched = [partition_of(self._partitions, followed) for followed in context.followed]
        poll = ConsumerPoll(self, request, asked, context, watched)
        for partition in watched:
            partition.watch(poll)
        return Instead.PARKED

    def context(self, version: int, asked: FetchRequest) -> FetchContext:
        return self._sessions.context(version, asked, self.host.elapsed_ms())

    def _open_lane(self, request: Request, asked: FetchRequest, followed: FollowedPartition) -> None:
        """If the next request of the connection looks like this one, it will be known by that."""
        partition = partitions_of(self._partitions, followed.topic).get(followed.partition)
        if partition is not None:
            lane = fetch_lane_of(request, asked, partition, self._fetch_max_bytes, self._wait_in_lane)
            request.connection.lane = lane

    def _wait_in_lane(self, lane: FetchLane, correlation_id: int, offset: int, connection: Connection) -> Request:
        header = lane.header._replace(correlation_id=correlation_id)
        request = Request(connection, header, NO_FRAME)
        lane.partition.watch(LanePoll(self, request, lane, offset))
        return request

    # Reading.

    def read(self, context: FetchContext, asked: FetchRequest) -> tuple[Answers, bool]:
        """What there is now, and whether it is worth an answer at once."""
        answers: Answers = []
        bytes_left, bytes_read, is_urgent = min(asked.max_bytes, self._fetch_max_bytes), 0, not context.followed
        for followed in context.followed:
            data = self._read_partition(followed, asked, bytes_left, bytes_read == 0)
            answers.append((followed, data))
            if isinstance(data.records, LogSlice):
                bytes_read += data.records.length
                bytes_left -= data.records.length
            elif data.error_code or data.diverging_epoch.epoch >= 0:
                is_urgent = True
        return answers, is_urgent or bytes_read >= asked.min_bytes

    def _read_partition(
        self, followed: FollowedPartition, asked: FetchRequest, bytes_left: int, is_first: bool
    ) -> PartitionData:
        committed_only = asked.isolation_level == READ_COMMITTED
        try:
            partition = partition_of(self._partitions, followed)
            partition.check_leader(followed.current_leader_epoch)
            diverging = diverging_epoch(partition, followed)
            if diverging is not None:
                return placed(followed, partition, diverging_epoch=diverging)
            max_bytes = max(0, min(followed.max_bytes, bytes_left))
            found = partition.read(followed.fetch_offset, max_bytes, committed_only=committed_only)
            aborted = _aborted(partition, followed.fetch_offset, found) if committed_only and found.length else []
        except Refused as refused:
            return PartitionData(followed.partition, refused.error_code, -1, records=b"")
        except StorageFailed:
            return PartitionData(followed.partition, ErrorCode.KAFKA_STORAGE_ERROR, -1, records=b"")
        has_room = found.length <= max_bytes or is_first
        data = placed(followed, partition, records=found if found.length and has_room else b"")
        if committed_only:
            data.aborted_transactions = aborted
        return data

    def body(self, version: int, context: FetchContext, answers: Answers) -> Body:
        topics: dict[TopicKey, FetchableTopicResponse] = {}
        for followed, data in context.worth_sending(answers):
            topic = topics.get(followed.topic)
            if topic is None:
                topic = topics[followed.topic] = topic_response(followed.topic)
            topic.partitions.append(data)
        response = FetchResponse(session_id=context.session_id, responses=list(topics.values()))
        return encode_fetch_response(version, response)


class ConsumerPoll(LongPoll[FetchHandler, list[Partition]]):
    """A fetch that waits for its partitions."""

    __slots__ = ("_timer",)
    partition_moved = LongPoll.wake

    def _begin(self) -> None:
        self._timer = self._fetches.host.call_later(self._asked.max_wait_ms, self._time_is_up)

    def _time_is_up(self) -> None:
        self._look(is_last=True)

    def _body(self, is_last: bool) -> Body | None:
        answers, is_enough = self._fetches.read(self._context, self._asked)
        if is_enough or is_last:
            return self._fetches.body(self._request.api_version, self._context, answers)
        return None

    def _end(self) -> None:
        self._timer.cancel()
        for partition in self._watched:
            partition.unwatch(self)


class LanePoll(ConsumerPoll):
    """One whose request was known by its likeness; its answer is made in the same way."""

    __slots__ = ("_lane", "_offset")

    def __init__(self, fetches: FetchHandler, request: Request, lane: FetchLane, offset: int) -> None:
        self._lane = lane
        self._offset = offset
        super().__init__(fetches, request, lane.asked, NO_CONTEXT, [lane.partition])

    def _parts(self, is_last: bool) -> list[Part] | None:
        found = self._lane.parts_from(self._offset, self._request.header.correlation_id)
        if found:
            return list(found)
        return super()._parts(is_last) if is_last or found is None else None

    def _body(self, is_last: bool) -> Body | None:
        self._asked = self._lane.asked_from(self._offset)
        self._context = self._fetches.context(self._request.api_version, self._asked)
        return super()._body(is_last)


def _aborted(partition: Partition, fetch_offset: int, found: LogSlice) -> list[AbortedTransaction]:
    aborted = partition.log.aborted_transactions_in(fetch_offset, found, partition.last_stable_offset)
    return [AbortedTransaction(each.producer_id, each.first_offset) for each in aborted]
