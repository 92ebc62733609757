"""Fetches of followers (SPEC R2): how far they have come, what the leader has beyond that, and their long polls.

Each look at a partition does, in this order: who asks is one of its replicas, in this epoch and this life (KIP-320,
KIP-903); its log is a beginning of ours (KIP-595); then its offset is its progress, which may commit what others wait
for; then what comes next is read. A request looks at the partitions that want it (`attention`), all of them now and
then; those that wait together are looked at together, once what made them look has been received to its end.
"""

from __future__ import annotations

from collections.abc import Mapping

from strandline.broker.attention import Attention
from strandline.broker.dispatch import Body, Instead, Request
from strandline.broker.fetch_answers import diverging_epoch, partition_of, placed, topic_response
from strandline.broker.fetch_sessions import (
    FetchContext,
    FetchSession,
    FetchSessions,
    FollowedPartition,
    TopicKey,
    has_records,
)
from strandline.broker.follower_lane import follower_lane_of
from strandline.broker.host import Host
from strandline.broker.long_polls import LongPoll
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.log.log_slice import LogSlice
from strandline.model.failures import ErrorCode, Refused, StorageFailed
from strandline.replication.effects import NO_BROKER_EPOCH
from strandline.replication.leader import Leader
from strandline.wire.fetch_response import (
    TOPIC_IDS_FROM,
    encode_fetch_response,
    encode_only_partition,
    has_no_tags,
)
from strandline.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
    ReplicaState,
)

Answers = list[tuple[FollowedPartition, PartitionData]]


class FollowerFetches:
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
        self._live_brokers = live_brokers
        self._quotas = quotas
        self.host = host
        self._fetch_max_bytes = fetch_max_bytes

    def answer(self, request: Request, asked: FetchRequest) -> Body | Instead:
        try:
            context = self._sessions.context(request.api_version, asked, self.host.elapsed_ms())
        except Refused as refused:
            return encode_fetch_response(request.api_version, FetchResponse(error_code=refused.error_code))
        if context.is_incremental:
            self._open_lane(request, asked, context)
        return self.answer_next(request, asked, context)

    def _open_lane(self, request: Request, asked: FetchRequest, context: FetchContext) -> None:
        """If the next request of the connection looks like this one, it will be known by that."""
        lane = follower_lane_of(request, asked, context, self)
        if lane is not None:
            request.connection.lane = lane

    def goes_on(self, session: FetchSession, session_epoch: int) -> bool:
        return self._sessions.goes_on(session, session_epoch, self.host.elapsed_ms())

    def answer_next(self, request: Request, asked: FetchRequest, context: FetchContext) -> Body | Instead:
        """Of a session that has been told what this request says."""
        elapsed_ms, replica, session = self.host.elapsed_ms(), asked.replica_state, context.session
        attention = Attention() if session is None or session.attention is None else session.attention
        if attention.is_due(replica.replica_epoch, elapsed_ms):
            attention.want_all(context.followed, replica.replica_epoch, elapsed_ms)
        answers, is_enough = self.look(context, attention, asked, elapsed_ms)
        if is_enough or asked.max_wait_ms <= 0:
            return self.body(request.api_version, context, attention, answers)
        FollowerPoll(self, request, asked, context, attention)
        return Instead.PARKED

    # Looking.

    def look(
        self, context: FetchContext, attention: Attention, asked: FetchRequest, asked_ms: int | None = None
    ) -> tuple[Answers, bool]:
        """What there is to say, and whether it is worth an answer at once. `asked_ms` is for a new request, which says
        how far the follower has come; looking again says nothing new."""
        answers: Answers = []
        bytes_left, bytes_read, is_urgent = min(asked.max_bytes, self._fetch_max_bytes), 0, not context.followed
        for followed in tuple(attention.wanted):
            assert isinstance(followed, FollowedPartition)
            data = self._look_at(followed, attention, asked.replica_state, asked_ms, bytes_left, bytes_read == 0)
            if data is None:
                continue
            answers.append((followed, data))
            if type(data.records) is LogSlice:
                bytes_read += data.records.length
                bytes_left -= data.records.length
            elif data.error_code or data.diverging_epoch.epoch >= 0:
                is_urgent = True
        return answers, is_urgent or bytes_read >= asked.min_bytes

    def _look_at(
        self,
        followed: FollowedPartition,
        attention: Attention,
        replica: ReplicaState,
        asked_ms: int | None,
        bytes_left: int,
        is_first: bool,
    ) -> PartitionData | None:
        """None where there is nothing to say."""
        try:
            partition = partition_of(self._partitions, followed)
            leader = self._check_follower(partition, followed, replica)
            watch = followed.watch
            if watch is None or watch.partition is not partition:
                attention.looks_at(followed, partition)
            diverging = diverging_epoch(partition, followed)
            if diverging is not None:
                return placed(followed, partition, diverging_epoch=diverging)
            log = partition.log
            if asked_ms is not None and log.log_start_offset <= followed.fetch_offset <= log.log_end_offset:
                partition.follower_fetched(
                    replica.replica_id,
                    followed.fetch_offset,
                    asked_ms,
                    followed.log_start_offset,
                    replica.replica_epoch,
                )
            records = self._read(partition, followed, replica.replica_id, bytes_left, is_first)
        except Refused as refused:
            return PartitionData(followed.partition, refused.error_code, -1, records=b"")
        except StorageFailed:
            return PartitionData(followed.partition, ErrorCode.KAFKA_STORAGE_ERROR, -1, records=b"")
        if (
            records is None
            and partition.high_watermark == followed.sent_high_watermark
            and log.log_start_offset == followed.sent_log_start_offset
        ):
            if followed.fetch_offset == log.log_end_offset and leader.followers[replica.replica_id].counts:
                del attention.wanted[followed]  # quiet
            return None
        return placed(followed, partition, records=b"" if records is None else records)

    def _read(
        self, partition: Partition, followed: FollowedPartition, replica_id: int, bytes_left: int, is_first: bool
    ) -> LogSlice | None:
        log = partition.log
        if followed.fetch_offset == log.log_end_offset and log.failure is None and not log.is_closed:
            return None
        if self._quotas.holds_back_follower(partition, replica_id):
            return None
        bytes_max = max(0, min(followed.max_bytes, bytes_left))
        found = log.read(followed.fetch_offset, bytes_max)
        if found.length == 0 or (found.length > bytes_max and not is_first):
            return None
        self._quotas.leader.count(partition, found.length)
        return found

    def _check_follower(self, partition: Partition, followed: FollowedPartition, replica: ReplicaState) -> Leader:
        """Whoever says that it is a broker must know the epoch of its registration, of which no client is told: its
        word moves the high watermark."""
        leader = partition.leader
        if leader is None:
            partition.check_leader()
        assert leader is not None
        if (
            followed.current_leader_epoch == leader.leader_epoch
            and leader.broker_id != replica.replica_id in leader.replicas
            and NO_BROKER_EPOCH != replica.replica_epoch == self._live_brokers.get(replica.replica_id)
        ):
            return leader  # nearly always; what follows says what is wrong
        leader.check_follower_fetch(
            replica.replica_id, leader_epoch=followed.current_leader_epoch, broker_epoch=replica.replica_epoch
        )
        if replica.replica_epoch == NO_BROKER_EPOCH:
            raise Refused(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "whoever follows must say its broker epoch")
        if replica.replica_epoch != self._live_brokers.get(replica.replica_id):
            raise Refused(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {replica.replica_id} is not known by this epoch, or not yet"
            )
        return leader

    # Answering.

    def body(self, version: int, context: FetchContext, attention: Attention, answers: Answers) -> Body:
        if len(answers) == 1 and context.session is not None and version >= TOPIC_IDS_FROM:
            followed, data = answers[0]
            if has_no_tags(data) and isinstance(followed.topic, bytes):
                self._told(followed, data, attention)
                return encode_only_partition(context.session_id, followed.topic, data)
        topics: dict[TopicKey, FetchableTopicResponse] = {}
        for followed, data in answers:
            self._told(followed, data, attention)
            topic = topics.get(followed.topic)
            if topic is None:
                topic = topics[followed.topic] = topic_response(followed.topic)
            topic.partitions.append(data)
        if context.session is None:
            attention.rest(context.followed)
        return encode_fetch_response(version, FetchResponse(0, 0, context.session_id, list(topics.values())))

    def _told(self, followed: FollowedPartition, data: PartitionData, attention: Attention) -> None:
        followed.has_news(data)  # takes note
        if has_records(data):
            attention.want_last(followed)


class FollowerPoll(LongPoll[FollowerFetches, Attention]):
    """A fetch that waits until a log has grown."""

    __slots__ = ("_ends_ms",)

    def _begin(self) -> None:
        elapsed_ms = self._fetches.host.elapsed_ms()
        self._ends_ms = elapsed_ms + self._asked.max_wait_ms
        self._watched.waiting = self
        self._watched.wake_after(self._asked.max_wait_ms, elapsed_ms, self._fetches.host)

    def time_passed(self) -> None:
        """Some has, since this fetch or one before it began to wait."""
        elapsed_ms = self._fetches.host.elapsed_ms()
        left_ms = self._ends_ms - elapsed_ms
        if left_ms > 0:
            self._watched.wake_after(left_ms, elapsed_ms, self._fetches.host)
        else:
            self._look(is_last=True)

    def _body(self, is_last: bool) -> Body | None:
        answers, is_enough = self._fetches.look(self._context, self._watched, self._asked)
        if is_enough or is_last:
            return self._fetches.body(self._request.api_version, self._context, self._watched, answers)
        return None

    def _end(self) -> None:
        if self._watched.waiting is self:
            self._watched.waiting = None
        if self._context.session is None:
            self._watched.rest(self._context.followed)
