"""Fetch, v4-v18: slices of log files from offsets on; a long poll where there is too little yet (SPEC L6, P1, P5).

An answer has at most `max_bytes`, and of each partition at most its own limit, except that the first batch is always
given whole: a consumer must be able to get past a batch that is larger than its limits (KIP-74).

A request that finds less than `min_bytes` waits on its partitions. When the high watermark of one moves, it looks
again at once; when its time is up, it takes what there is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from strandline.broker.dispatch import Body, Instead, Request
from strandline.broker.fetch_lane import fetch_lane_of
from strandline.broker.fetch_sessions import FetchContext, FetchSessions, FollowedPartition, TopicKey
from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.broker.partitions import NO_PARTITIONS, Partitions
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.log.leader_epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from strandline.log.log_slice import LogSlice
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.replication.effects import NO_BROKER_EPOCH
from strandline.wire.fetch_request import decode_fetch_request
from strandline.wire.fetch_response import encode_fetch_response
from strandline.wire.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
    ReplicaState,
)

logger = logging.getLogger(__name__)

READ_COMMITTED = 1
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
        self._live_brokers = live_brokers
        self._quotas = quotas
        self._sessions = sessions
        self.host = host
        self._fetch_max_bytes = fetch_max_bytes

    def __call__(self, request: Request) -> Body | Instead:
        asked = decode_fetch_request(request.api_version, request.body)
        try:
            context = self._sessions.context(request.api_version, asked, self.host.now_ms())
        except Refused as refused:
            return encode_fetch_response(request.api_version, FetchResponse(error_code=refused.error_code))
        answers, is_enough = self.read(context, asked, is_new=True)
        if is_enough or asked.max_wait_ms <= 0:
            if context.session is None and len(asked.topics) == 1 and len(asked.topics[0].partitions) == 1:
                self._open_lane(request, asked, context.followed[0])
            return self.body(request.api_version, context, answers)
        LongPoll(self, request, asked, context)
        return Instead.PARKED

    def _open_lane(self, request: Request, asked: FetchRequest, followed: FollowedPartition) -> None:
        """If the next request of the connection looks like this one, it will be known by that."""
        partition = self.partitions_of(followed.topic).get(followed.partition)
        if partition is not None:
            request.connection.lane = fetch_lane_of(request, asked, partition, self._fetch_max_bytes)

    def partition_of(self, followed: FollowedPartition) -> Partition:
        by_id = isinstance(followed.topic, bytes)
        of_topic = self.partitions_of(followed.topic)
        partition = of_topic.get(followed.partition)
        if partition is None:
            unknown = ErrorCode.UNKNOWN_TOPIC_ID if by_id and not of_topic else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise Refused(unknown, "this broker has no such partition")
        return partition

    def partitions_of(self, topic: TopicKey) -> dict[int, Partition]:
        if isinstance(topic, bytes):
            return self._partitions.by_id.get(topic, NO_PARTITIONS)
        return self._partitions.by_name.get(topic, NO_PARTITIONS)

    # Reading.

    def read(self, context: FetchContext, asked: FetchRequest, *, is_new: bool = False) -> tuple[Answers, bool]:
        """What there is now, and whether it is worth an answer at once. A new request of a follower says how far it
        has come; looking again says nothing new."""
        answers: Answers = []
        bytes_left, bytes_read, is_urgent = min(asked.max_bytes, self._fetch_max_bytes), 0, not context.followed
        replica = asked.replica_state if is_new and asked.replica_state.replica_id >= 0 else None
        if replica is not None:
            self._note_progress(context, replica)
        for followed in context.followed:
            data = self._read_partition(followed, asked, bytes_left, bytes_read == 0)
            answers.append((followed, data))
            if isinstance(data.records, LogSlice):
                bytes_read += data.records.length
                bytes_left -= data.records.length
            elif data.error_code or data.diverging_epoch.epoch >= 0:
                is_urgent = True
        return answers, is_urgent or bytes_read >= asked.min_bytes

    def _note_progress(self, context: FetchContext, replica: ReplicaState) -> None:
        """Before anything is read: what followers have may commit what others wait for."""
        now_ms = self.host.now_ms()
        for followed in context.followed:
            partition = self.partitions_of(followed.topic).get(followed.partition)
            if partition is None or partition.leader is None:
                continue
            try:
                self._check_follower(partition, followed, replica)
                if _diverging(partition, followed) is not None:
                    continue
            except Refused:
                continue
            if partition.log.log_start_offset <= followed.fetch_offset <= partition.log.log_end_offset:
                partition.follower_fetched(
                    replica.replica_id, followed.fetch_offset, now_ms, followed.log_start_offset, replica.replica_epoch
                )

    def _read_partition(
        self, followed: FollowedPartition, asked: FetchRequest, bytes_left: int, is_first: bool
    ) -> PartitionData:
        is_follower = asked.replica_state.replica_id >= 0
        committed_only = asked.isolation_level == READ_COMMITTED and not is_follower
        try:
            partition = self.partition_of(followed)
            partition.check_leader(followed.current_leader_epoch)
            if is_follower:
                self._check_follower(partition, followed, asked.replica_state)
            diverging = _diverging(partition, followed)
            if diverging is not None:
                return _placed(followed, partition, diverging_epoch=diverging)
            max_bytes = max(0, min(followed.max_bytes, bytes_left))
            if is_follower:
                if self._quotas.holds_back_follower(partition, asked.replica_state.replica_id):
                    return _placed(followed, partition)
                found = partition.log.read(followed.fetch_offset, max_bytes)
            else:
                found = partition.read(followed.fetch_offset, max_bytes, committed_only=committed_only)
            aborted = _aborted(partition, followed.fetch_offset, found) if committed_only and found.length else []
        except Refused as refused:
            return PartitionData(followed.partition, refused.error_code, -1, records=b"")
        except StorageFailed:
            return PartitionData(followed.partition, ErrorCode.KAFKA_STORAGE_ERROR, -1, records=b"")
        has_room = found.length <= max_bytes or is_first
        if is_follower and has_room:
            self._quotas.leader.count(partition, found.length)
        data = _placed(followed, partition, records=found if found.length and has_room else b"")
        if committed_only:
            data.aborted_transactions = aborted
        return data

    def _check_follower(self, partition: Partition, followed: FollowedPartition, replica: ReplicaState) -> None:
        """Whoever says that it is a broker must know the epoch of its registration, of which no client is told: its
        word moves the high watermark."""
        partition.check_leader()
        assert partition.leader is not None
        partition.leader.check_follower_fetch(
            replica.replica_id, leader_epoch=followed.current_leader_epoch, broker_epoch=replica.replica_epoch
        )
        if replica.replica_epoch == NO_BROKER_EPOCH:
            raise Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "whoever follows must say its broker epoch")
        if replica.replica_epoch != self._live_brokers.get(replica.replica_id):
            raise Refused(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {replica.replica_id} is not known by this epoch, or not yet"
            )

    def body(self, version: int, context: FetchContext, answers: Answers) -> Body:
        topics: dict[TopicKey, FetchableTopicResponse] = {}
        for followed, data in context.worth_sending(answers):
            topic = topics.get(followed.topic)
            if topic is None:
                topic = topics[followed.topic] = _topic_response(followed.topic)
            topic.partitions.append(data)
        response = FetchResponse(session_id=context.session_id, responses=list(topics.values()))
        return encode_fetch_response(version, response)


class LongPoll:
    """A fetch that waits for its partitions."""

    __slots__ = ("_asked", "_context", "_handler", "_is_looking", "_partitions", "_request", "_timer")

    def __init__(self, handler: FetchHandler, request: Request, asked: FetchRequest, context: FetchContext) -> None:
        self._handler = handler
        self._request = request
        self._asked = asked
        self._context = context
        self._is_looking = False
        self._partitions = [handler.partition_of(followed) for followed in context.followed]
        self._timer = handler.host.call_later(asked.max_wait_ms, self._time_is_up)
        for partition in self._partitions:
            if asked.replica_state.replica_id >= 0:
                partition.watch_end(self)
            else:
                partition.watch(self)
        request.when_abandoned = self._end

    def partition_moved(self, _: Partition) -> None:
        """More may move in the same turn: look at them together."""
        if not self._is_looking:
            self._is_looking = True
            self._handler.host.call_soon(self._look)

    def _look(self) -> None:
        self._is_looking = False
        if self._request.parts is None and not self._request.connection.is_closed:
            self._read(is_last=False)

    def _time_is_up(self) -> None:
        self._read(is_last=True)

    def _read(self, *, is_last: bool) -> None:
        """Whatever goes wrong that nobody foresaw, the peer must not wait for ever: its connection ends."""
        try:
            answers, is_enough = self._handler.read(self._context, self._asked)
            body = (
                self._handler.body(self._request.api_version, self._context, answers) if is_enough or is_last else None
            )
        except Exception:
            logger.exception("a long poll failed; its connection is closed")
            self._end()
            self._request.connection.end("a long poll failed here")
            self._request.deliver([])
            return
        if body is not None:
            self._end()
            self._request.answer(body)

    def _end(self) -> None:
        self._timer.cancel()
        for partition in self._partitions:
            partition.unwatch(self)


def _placed(
    followed: FollowedPartition,
    partition: Partition,
    *,
    records: LogSlice | bytes = b"",
    diverging_epoch: EpochEndOffset | None = None,
) -> PartitionData:
    data = PartitionData(
        followed.partition,
        0,
        partition.high_watermark,
        partition.last_stable_offset,
        partition.log.log_start_offset,
        records=records,
    )
    if diverging_epoch is not None:
        data.diverging_epoch = diverging_epoch
    return data


def _diverging(partition: Partition, followed: FollowedPartition) -> EpochEndOffset | None:
    """Where the asker's log and ours parted, if they did (KIP-595)."""
    if followed.last_fetched_epoch < 0:
        return None
    log = partition.log
    end = log.epochs.end_offset_for(followed.last_fetched_epoch, log.log_end_offset)
    if end.epoch == UNDEFINED_EPOCH or end.end_offset == UNDEFINED_OFFSET:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"epoch {followed.last_fetched_epoch} is newer than the log")
    if end.epoch < followed.last_fetched_epoch or end.end_offset < followed.fetch_offset:
        return EpochEndOffset(end.epoch, end.end_offset)
    return None


def _aborted(partition: Partition, fetch_offset: int, found: LogSlice) -> list[AbortedTransaction]:
    aborted = partition.log.aborted_transactions_in(fetch_offset, found, partition.last_stable_offset)
    return [AbortedTransaction(each.producer_id, each.first_offset) for each in aborted]


def _topic_response(topic: TopicKey) -> FetchableTopicResponse:
    if isinstance(topic, bytes):
        return FetchableTopicResponse(topic_id=topic)
    return FetchableTopicResponse(topic)
