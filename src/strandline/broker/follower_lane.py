"""The short way of a follower's fetch: the next one of its session, which names one partition (SPEC R2).

Whoever waits for acks=all waits for two of these from each follower. They differ in few fields, all at known places:

    api key, version | correlation id | client id … session id | epoch | partition | no more, rack, who asks
       the same           differs             the same          differs   differs          the same

So one `unpack` and three comparisons take the place of decoding. What the fetch means is said in one place alone, for
this way and the general one: `follower_fetches`.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Protocol

from strandline.broker.connection import LANE_BYTES_MAX, NOTHING_TAKEN, Connection, Part, Pending, Taken
from strandline.broker.dispatch import Body, Instead, Request
from strandline.broker.fetch_sessions import FetchContext, FetchSession
from strandline.wire.fetch_request import HEAD_V15, PARTITION_V12, REPLICA_STATE_FROM
from strandline.wire.header import RequestHeader
from strandline.wire.messages.fetch import FetchRequest
from strandline.wire.primitives import INT32, Buffer

CORRELATION_START, CORRELATION_END = 4, 8
EPOCH_BYTES = 4
ONE = 2  # how a compact array says that there is one
UUID_BYTES = 16
TOPIC_BYTES = 1 + UUID_BYTES + 1 + PARTITION_V12.size  # how many topics, which, how many partitions, the only one
NOTHING_ELSE = b"\0\0\1\1"  # no tags of the partition and the topic, nothing forgotten, no rack
NO_FRAME = memoryview(b"")
READINGS_MAX = 64  # followers have a few lengths among them; a peer may choose any


class Followed(Protocol):
    """Whose lane it is."""

    def goes_on(self, session: FetchSession, session_epoch: int) -> bool:
        """Whether this is the session's next request; if so, it has begun."""

    def answer_next(self, request: Request, asked: FetchRequest, context: FetchContext) -> Body | Instead:
        """Of a session that has been told what this request says."""


class FollowerLane:
    __slots__ = (
        "_asked", "_before", "_context", "_fetches", "_frame_bytes", "_framed_bytes", "_head", "_header", "_read",
        "_rest", "_session", "_size",
    )  # fmt: skip

    def __init__(
        self, request: Request, asked: FetchRequest, context: FetchContext, session: FetchSession, fetches: Followed
    ) -> None:
        frame, epoch_at = request.frame, _epoch_position(request.header)
        self._header = request.header
        self._asked = asked  # of which the next ones differ in epoch and partition alone
        self._context = context
        self._session = session
        self._fetches = fetches
        self._frame_bytes, self._framed_bytes = len(frame), INT32.size + len(frame)
        self._size = INT32.pack(len(frame))
        self._before = self._size + frame[:CORRELATION_START]
        self._head = bytes(frame[CORRELATION_END:epoch_at])
        self._rest = bytes(frame[epoch_at + EPOCH_BYTES + TOPIC_BYTES :])
        self._read = _reading(len(self._head), len(self._rest))

    def take(
        self, frame: memoryview | None, received: memoryview, frame_bytes_max: int, connection: Connection, /
    ) -> Taken:
        """One at a time: a follower sends no more."""
        if frame is not None:
            replies = self._replies(self._size + frame, connection) if len(frame) == self._frame_bytes else None
            return NOTHING_TAKEN if replies is None else (replies, 1, 0)
        if len(received) < self._framed_bytes or self._frame_bytes > frame_bytes_max:
            return NOTHING_TAKEN
        replies = self._replies(received, connection)
        return NOTHING_TAKEN if replies is None else (replies, 1, self._framed_bytes)

    def _replies(self, framed: Buffer, connection: Connection) -> tuple[Part, ...] | list[Pending] | None:
        """None: it is not alike, or there is something to be said that the general way says better."""
        (
            before, correlation_id, head, session_epoch, topics, topic_id, partitions, index, leader_epoch,
            fetch_offset, last_fetched_epoch, log_start_offset, max_bytes, rest,
        ) = self._read(framed)  # fmt: skip
        if (
            head != self._head
            or rest != self._rest
            or before != self._before
            or topics != ONE
            or partitions != ONE
            or (followed := self._session.followed.get((topic_id, index))) is None
            or not self._fetches.goes_on(self._session, session_epoch)
        ):
            return None
        followed.current_leader_epoch = leader_epoch
        followed.fetch_offset = fetch_offset
        followed.last_fetched_epoch = last_fetched_epoch
        followed.log_start_offset = log_start_offset
        followed.max_bytes = max_bytes
        assert self._session.attention is not None
        self._session.attention.wanted[followed] = None
        api_key, api_version, _, client_id, body_position = self._header
        header = RequestHeader(api_key, api_version, correlation_id, client_id, body_position)
        request = Request(connection, header, NO_FRAME)
        body = self._fetches.answer_next(request, self._asked, self._context)
        return [request] if isinstance(body, Instead) else tuple(request.framed(body))  # type: ignore[arg-type]


def follower_lane_of(
    request: Request, asked: FetchRequest, context: FetchContext, fetches: Followed
) -> FollowerLane | None:
    """The lane that this request leaves behind; None where there is more to it."""
    session = context.session
    if session is None or session.attention is None or request.api_version < REPLICA_STATE_FROM:
        return None
    if len(request.frame) > LANE_BYTES_MAX or len(asked.topics) != 1 or len(asked.topics[0].partitions) != 1:
        return None
    topic_at = _epoch_position(request.header) + EPOCH_BYTES
    rest_at = topic_at + TOPIC_BYTES
    frame = request.frame
    # Counts that are written in more bytes than they need lie elsewhere.
    if frame[topic_at] != ONE or frame[topic_at + 1 + UUID_BYTES] != ONE:
        return None
    return (
        FollowerLane(request, asked, context, session, fetches)
        if frame[rest_at : rest_at + len(NOTHING_ELSE)] == NOTHING_ELSE
        else None
    )


def _epoch_position(header: RequestHeader) -> int:
    """Of the session epoch in the frame: the last field before the topics."""
    return header.body_position + HEAD_V15.size - EPOCH_BYTES


@lru_cache(READINGS_MAX)
def _reading(head_bytes: int, rest_bytes: int):  # type: ignore[no-untyped-def]
    """Lanes of one session have the same."""
    return Struct(f">8si{head_bytes}siB{UUID_BYTES}sBiiqiqi{rest_bytes}s").unpack_from
