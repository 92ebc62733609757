"""Fetch sessions (KIP-227): a client says once what it follows, then only what changed; so do our answers.

    epoch -1   no session: everything asked, everything answered
    epoch  0   everything asked; the answer names a new session, if there is room for one
    epoch  n   the n-th request of its session: partitions added, moved or forgotten since the last

An incremental answer leaves out partitions about which there is nothing new. Those that gave records go to the end of
the line, so that a busy partition does not starve the others when the answer is full.

A follower's session has an `Attention`: it knows which of its partitions there may be something to say about.

Sessions are bounded (`max.incremental.fetch.session.cache.slots`). A new one may push out one that has been idle for
two minutes, or a smaller one that has had its two minutes; consumers never push out followers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from strandline.broker.attention import Attention, Watch
from strandline.log.log_slice import LogSlice
from strandline.model.failures import ErrorCode, Refused
from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, PartitionData

NO_SESSION_ID = 0
FINAL_EPOCH = -1
INITIAL_EPOCH = 0
MIN_EVICTION_MS = 120_000
TopicKey = str | bytes  # by name up to version 12, by id from then on
Key = tuple[TopicKey, int]


class FollowedPartition:
    """A partition that a client fetches, where from, and what it was last told."""

    __slots__ = (
        "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "max_bytes", "partition",
        "sent_high_watermark", "sent_log_start_offset", "topic", "watch",
    )  # fmt: skip

    def __init__(self, topic: TopicKey, asked: FetchPartition) -> None:
        self.topic = topic
        self.partition = asked.partition
        self.sent_high_watermark = -1
        self.sent_log_start_offset = -1
        self.watch: Watch | None = None  # of a follower's session
        self.update(asked)

    def update(self, asked: FetchPartition) -> None:
        self.fetch_offset = asked.fetch_offset
        self.max_bytes = asked.partition_max_bytes
        self.current_leader_epoch = asked.current_leader_epoch
        self.last_fetched_epoch = asked.last_fetched_epoch
        self.log_start_offset = asked.log_start_offset

    def has_news(self, data: PartitionData) -> bool:
        """Whether an incremental answer must mention it; takes note of what is sent."""
        is_news = (
            has_records(data)
            or data.error_code != 0
            or data.high_watermark != self.sent_high_watermark
            or data.log_start_offset != self.sent_log_start_offset
            or data.diverging_epoch.epoch >= 0
        )
        # After an error the next good answer is news, whatever it says.
        self.sent_high_watermark = -1 if data.error_code else data.high_watermark
        self.sent_log_start_offset = data.log_start_offset
        return is_news


@dataclass(slots=True)
class FetchSession:
    session_id: int
    epoch: int
    by_topic_id: bool
    replica_id: int
    created_ms: int
    last_used_ms: int
    followed: dict[Key, FollowedPartition]
    attention: Attention | None  # of a follower

    @property
    def is_follower(self) -> bool:
        return self.replica_id >= 0

    def rest(self) -> None:
        if self.attention is not None:
            self.attention.rest(self.followed.values())

    def evictable_before(self, other_is_follower: bool, other_size: int, now_ms: int) -> bool:
        if self.is_follower and not other_is_follower:
            return False
        if now_ms - self.last_used_ms > MIN_EVICTION_MS:
            return True
        is_weaker = (self.is_follower, len(self.followed)) < (other_is_follower, other_size)
        return is_weaker and now_ms - self.created_ms > MIN_EVICTION_MS


@dataclass(slots=True)
class FetchContext:
    """What one request asks for after its session, if it has one, was brought up to date."""

    followed: Collection[FollowedPartition]
    session: FetchSession | None = None
    is_incremental: bool = False

    @property
    def session_id(self) -> int:
        return NO_SESSION_ID if self.session is None else self.session.session_id

    def worth_sending(
        self, answers: list[tuple[FollowedPartition, PartitionData]]
    ) -> list[tuple[FollowedPartition, PartitionData]]:
        """All of them, or what is new in an incremental answer. Takes note of what the client will know."""
        session = self.session
        if session is None:
            return answers
        news = [(followed, data) for followed, data in answers if followed.has_news(data)]
        for followed, data in news:
            if has_records(data):
                key = followed.topic, followed.partition
                if session.followed.pop(key, None) is not None:  # forgotten, perhaps, while this answer waited
                    session.followed[key] = followed
        return news if self.is_incremental else answers


def has_records(data: PartitionData) -> bool:
    return isinstance(data.records, LogSlice) and data.records.length > 0


class FetchSessions:
    def __init__(self, slots: int, new_session_id: Callable[[], int]) -> None:
        self._slots = slots
        self._new_session_id = new_session_id  # random, positive
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def context(self, version: int, request: FetchRequest, now_ms: int) -> FetchContext:
        """Raises `Refused` with the error for the whole answer."""
        if version < 7:
            return FetchContext(_asked(version, request))
        if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            self._drop(request.session_id)
            followed = _asked(version, request)
            if request.session_epoch == FINAL_EPOCH:
                return FetchContext(followed)
            return FetchContext(followed, self._begin(version, request, followed, now_ms))
        session = self._continue(version, request, now_ms)
        partitions = session.followed.values()
        return FetchContext(partitions if session.is_follower else list(partitions), session, is_incremental=True)

    def _drop(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.rest()

    def _begin(
        self, version: int, request: FetchRequest, followed: list[FollowedPartition], now_ms: int
    ) -> FetchSession | None:
        replica_id = request.replica_state.replica_id
        is_follower = replica_id >= 0
        if not followed or not self._make_room(is_follower, len(followed), now_ms):
            return None
        if is_follower:
            self._rest_of(replica_id)
        session_id = self._new_session_id()
        while session_id in self._sessions:
            session_id = self._new_session_id()
        by_key: dict[Key, FollowedPartition] = {(each.topic, each.partition): each for each in followed}
        attention = Attention() if is_follower else None
        session = FetchSession(session_id, 1, version >= 13, replica_id, now_ms, now_ms, by_key, attention)
        self._sessions[session_id] = session
        return session

    def _rest_of(self, replica_id: int) -> None:
        """A follower that begins anew has left its session, most likely: nobody need be told for it any more."""
        for session in self._sessions.values():
            if session.replica_id == replica_id:
                session.rest()

    def _make_room(self, is_follower: bool, size: int, now_ms: int) -> bool:
        if len(self._sessions) < self._slots:
            return True
        # In the order of their last use.
        for session in self._sessions.values():
            if session.evictable_before(is_follower, size, now_ms):
                self._drop(session.session_id)
                return True
            if now_ms - session.last_used_ms <= MIN_EVICTION_MS and now_ms - session.created_ms <= MIN_EVICTION_MS:
                break
        return False

    def _continue(self, version: int, request: FetchRequest, now_ms: int) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "there is no such fetch session")
        if session.epoch != request.session_epoch:
            raise Refused(ErrorCode.INVALID_FETCH_SESSION_EPOCH, f"the session is at epoch {session.epoch}")
        if session.by_topic_id != (version >= 13):
            raise Refused(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, "a session has topic names or ids, not both")
        self._move_on(session, now_ms)
        _update(session, version, request)
        if not session.followed:
            self._drop(session.session_id)
        return session

    def goes_on(self, session: FetchSession, epoch: int, now_ms: int) -> bool:
        """Whether a request of this epoch is the next one of this session; if so, it has begun."""
        if session.epoch != epoch or self._sessions.get(session.session_id) is not session:
            return False
        self._move_on(session, now_ms)
        return True

    def _move_on(self, session: FetchSession, now_ms: int) -> None:
        session.epoch = 1 if session.epoch == INT_MAX else session.epoch + 1
        session.last_used_ms = now_ms
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)  # the last in use


def _update(session: FetchSession, version: int, request: FetchRequest) -> None:
    followed, attention = session.followed, session.attention
    for topic in request.topics:
        key: TopicKey = topic.topic_id if version >= 13 else topic.topic
        for asked in topic.partitions:
            known = followed.get((key, asked.partition))
            if known is None:
                known = followed[key, asked.partition] = FollowedPartition(key, asked)
            else:
                known.update(asked)
            if attention is not None:
                attention.wanted[known] = None
    for forgotten in request.forgotten_topics_data:
        key = forgotten.topic_id if version >= 13 else forgotten.topic
        for partition in forgotten.partitions:
            known = followed.pop((key, partition), None)
            if known is not None and attention is not None:
                attention.forget(known)


def _asked(version: int, request: FetchRequest) -> list[FollowedPartition]:
    return [
        FollowedPartition(topic.topic_id if version >= 13 else topic.topic, asked)
        for topic in request.topics
        for asked in topic.partitions
    ]
