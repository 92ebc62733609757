"""The short way of a Fetch request: one that looks like the one before it, but for where it reads from.

A consumer of one partition without a session (librdkafka never has one) sends requests which differ in their
correlation id and their fetch offset alone:

    api key, version | correlation id | client id … partition, epoch | fetch offset | limits, rack
       the same           differs               the same                 differs       the same

It is known by three comparisons then; the partition, its limits and the answer's head are known from the last time.
Where there is too little yet, it waits, and its answer is made in the same way when there is more. Errors, and for one
who reads what is committed what was aborted, are the general way's (`handlers.fetch`).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from struct import Struct

from strandline.broker.connection import LANE_BYTES_MAX, NOTHING_TAKEN, Connection, Part, Pending, Taken
from strandline.broker.dispatch import Request
from strandline.broker.partition import Partition
from strandline.log.log_slice import LogSlice
from strandline.model.failures import ProtocolError, Refused, StorageFailed
from strandline.wire.fetch_request import decode_fetch_request, fetch_offset_position
from strandline.wire.fetch_response import FLEXIBLE_FROM, encode_fetch_response
from strandline.wire.header import frame_response
from strandline.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from strandline.wire.primitives import INT32, Buffer, encode_compact_count
from strandline.wire.versions import ApiKey

FIRST_VERSION = 9  # from here on a request has the leader epoch
CORRELATION_START, CORRELATION_END = 4, 8
SIZE_BYTES, CORRELATION_BYTES, OFFSET_BYTES = 4, 4, 8
TAGS_BYTES = 3  # of the partition, the topic and the answer: none
NO_SESSION = (0, -1)  # id and epoch
NO_EPOCH = -1
READ_COMMITTED = 1

UNLIKELY_OFFSET = bytes(range(1, 9))

PLACES = Struct(">qqq")  # high watermark, last stable offset and log start offset in an answer
PLACEHOLDER = PLACES.pack(0x5374_7261_6E64_6C69, 0x6E65_2068_6967_6820, 0x7761_7465_726D_6172)


Wait = Callable[["FetchLane", int, int, Connection], Pending]  # correlation id and offset


class FetchLane:
    __slots__ = (
        "_after_correlation", "_after_offset", "_answer", "_answer_end", "_answer_middle", "_answer_start",
        "_before_correlation", "_bytes_max", "_bytes_min", "_frame_bytes", "_framed_bytes", "_is_committed_only",
        "_leader_epoch", "_length", "_read_framed", "_size", "_size_without_records", "_wait", "asked", "header",
        "partition",
    )  # fmt: skip

    def __init__(
        self,
        request: Request,
        offset_at: int,
        asked: FetchRequest,
        partition: Partition,
        fetch_bytes_max: int,
        wait: Wait,
    ) -> None:
        """`offset_at` is where the fetch offset lies in the frame."""
        frame = request.frame
        wanted = asked.topics[0].partitions[0]
        self.partition = partition
        self.header = request.header
        self.asked = asked  # of which the next ones differ in the offset alone
        self._wait = wait
        self._leader_epoch = wanted.current_leader_epoch
        self._is_committed_only = asked.isolation_level == READ_COMMITTED
        self._bytes_min = max(1, asked.min_bytes)
        self._bytes_max = max(0, min(wanted.partition_max_bytes, asked.max_bytes, fetch_bytes_max))
        self._frame_bytes = len(frame)
        self._framed_bytes = SIZE_BYTES + len(frame)
        self._size = INT32.pack(len(frame))
        self._before_correlation = self._size + frame[:CORRELATION_START]
        self._after_correlation = bytes(frame[CORRELATION_END:offset_at])
        self._after_offset = bytes(frame[offset_at + OFFSET_BYTES :])
        self._read_framed = Struct(f">8si{len(self._after_correlation)}sq{len(self._after_offset)}s").unpack_from
        self._set_answer(asked.topics[0], wanted.partition)

    def _set_answer(self, topic: FetchTopic, index: int) -> None:
        high_watermark, last_stable_offset, log_start_offset = PLACES.unpack(PLACEHOLDER)
        data = PartitionData(index, 0, high_watermark, last_stable_offset, log_start_offset, records=b"")
        if self._is_committed_only:
            data.aborted_transactions = []
        response = FetchResponse(responses=[FetchableTopicResponse(topic.topic, topic.topic_id, [data])])
        version = self.header.api_version
        parts, body_bytes = encode_fetch_response(version, response)
        header = frame_response(ApiKey.FETCH, version, 0, body_bytes)
        start, rest = b"".join([header, *(part for part in parts if isinstance(part, bytearray))]).split(PLACEHOLDER)
        end = len(rest) - (TAGS_BYTES if version >= FLEXIBLE_FROM else 0)
        self._answer_start = start[SIZE_BYTES + CORRELATION_BYTES :]
        self._length = encode_compact_count if version >= FLEXIBLE_FROM else INT32.pack
        self._answer_middle, self._answer_end = rest[:end].removesuffix(self._length(0)), rest[end:]
        answer = Struct(f">ii{len(self._answer_start)}sqqq{len(self._answer_middle)}s")
        self._answer, self._size_without_records = answer.pack, answer.size - SIZE_BYTES + len(self._answer_end)

    def take(
        self, frame: memoryview | None, received: memoryview, frame_bytes_max: int, connection: Connection, /
    ) -> Taken:
        """One at a time: whoever sends two at once gets the second by the general way."""
        if frame is not None:
            replies = self._replies(self._size + frame, connection) if len(frame) == self._frame_bytes else None
            return NOTHING_TAKEN if replies is None else (replies, 1, 0)
        if len(received) < self._framed_bytes or self._frame_bytes > frame_bytes_max:
            return NOTHING_TAKEN
        replies = self._replies(received, connection)
        return NOTHING_TAKEN if replies is None else (replies, 1, self._framed_bytes)

    def _replies(self, framed: Buffer, connection: Connection) -> tuple[Part, ...] | list[Pending] | None:
        """None: it is not alike, or there is something to be said that the general way says better."""
        before, correlation_id, after, offset, rest = self._read_framed(framed)
        if after != self._after_correlation or rest != self._after_offset or before != self._before_correlation:
            return None
        parts = self.parts_from(offset, correlation_id)
        if parts or parts is None:
            return parts
        asked = self.asked
        return (
            [self._wait(self, correlation_id, offset, connection)] if asked.max_wait_ms > 0 < asked.min_bytes else None
        )

    def parts_from(self, offset: int, correlation_id: int) -> tuple[Part, ...] | None:
        """The answer; empty where there is too little yet, None where the general way has to give it."""
        partition = self.partition
        leader = partition.leader
        if leader is None or (self._leader_epoch != leader.leader_epoch and self._leader_epoch != NO_EPOCH):
            return None
        try:
            found = partition.read(offset, self._bytes_max, committed_only=self._is_committed_only)
            records_bytes = found.length
            if records_bytes < self._bytes_min:
                return ()
            if self._is_committed_only and self._has_aborted(offset, found):
                return None
        except (Refused, StorageFailed):
            return None
        length = self._length(records_bytes)
        head = self._answer(
            self._size_without_records + len(length) + records_bytes,
            correlation_id,
            self._answer_start,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log.log_start_offset,
            self._answer_middle,
        )
        return head + length, found, self._answer_end

    def asked_from(self, offset: int) -> FetchRequest:
        """The request, as it would have been decoded."""
        asked, topic = copy(self.asked), copy(self.asked.topics[0])
        wanted = copy(topic.partitions[0])
        wanted.fetch_offset = offset
        topic.partitions, asked.topics = [wanted], [topic]
        return asked

    def _has_aborted(self, offset: int, found: LogSlice) -> bool:
        partition = self.partition
        return bool(partition.log.aborted_transactions_in(offset, found, partition.last_stable_offset))


def fetch_lane_of(
    request: Request, asked: FetchRequest, partition: Partition, fetch_bytes_max: int, wait: Wait
) -> FetchLane | None:
    """The lane that this request, which has one partition, leaves behind; None where there is more to it."""
    wanted, version = asked.topics[0].partitions[0], request.api_version
    if (
        version < FIRST_VERSION
        or len(request.frame) > LANE_BYTES_MAX
        or (asked.session_id, asked.session_epoch) != NO_SESSION
        or asked.replica_state.replica_id >= 0
        or wanted.last_fetched_epoch >= 0
    ):
        return None
    offset_at = fetch_offset_position(version, asked.topics[0].topic)
    if not _is_offset_at(offset_at, version, request.body):
        return None
    return FetchLane(request, request.header.body_position + offset_at, asked, partition, fetch_bytes_max, wait)


def _is_offset_at(position: int, version: int, body: memoryview) -> bool:
    """Another number there is another offset. It lies elsewhere if counts are written in more bytes than they need."""
    changed = bytearray(body)
    changed[position : position + OFFSET_BYTES] = UNLIKELY_OFFSET
    try:
        wanted = decode_fetch_request(version, bytes(changed)).topics[0].partitions[0]
    except (ProtocolError, IndexError):
        return False
    return wanted.fetch_offset == int.from_bytes(UNLIKELY_OFFSET, "big")
