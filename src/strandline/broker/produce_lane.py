"""The short way of a Produce request: one that looks like the one before it on the same connection.

A producer that fills one partition sends requests which differ in their correlation id and their records, and in
nothing else:

    api key, version | correlation id | client id … topic, partition | length, records | tags
       the same           differs               the same                  differs        the same

So a connection remembers its last plain request as a lane. A frame that fits it is recognised by two comparisons, and
its partition is known without decoding anything; its answer is one `pack` into a template. Whatever does not fit
takes the general way (`handlers.produce`), which may leave a new lane behind.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from strandline.broker.connection import Connection, Pending
from strandline.broker.partition import Partition
from strandline.records.batch import ATTRIBUTES_POSITION, HEAD_BYTES, MAGIC_POSITION, MAGIC_V2, TRANSACTIONAL
from strandline.wire.header import frame_response
from strandline.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from strandline.wire.primitives import encode_compact_count, read_uvarint
from strandline.wire.produce import FLEXIBLE_FROM, encode_produce_response
from strandline.wire.versions import ApiKey

ALL_IN_SYNC = -1
FIRST_VERSION = 7  # older ones may not have zstd, and answers before 5 have no log start offset
CORRELATION_START, CORRELATION_END = 4, 8
CORRELATION = Struct(">i")
LENGTH = Struct(">i")
NO_TAGS = bytes(3)  # of the partition, the topic and the request
PLACE = Struct(">qqq")  # base offset, log append time, log start offset in an answer
PLACEHOLDER = PLACE.pack(0x5374_7261_6E64_6C69, 0x6E65_2068_6967_6820, 0x7761_7465_726D_6172)

Collect = Callable[[Partition, memoryview, "LaneRequest"], None]


class LaneRequest(Pending):
    """A request on its way along a lane."""

    __slots__ = ("correlation_id", "lane")

    def __init__(self, connection: Connection, lane: ProduceLane, correlation_id: int) -> None:
        self.connection = connection
        self.holds_up = False
        self.parts = None
        self.when_abandoned = None
        self.lane = lane
        self.correlation_id = correlation_id

    @property
    def api_version(self) -> int:
        return self.lane.version

    def answer(self, body: bytes) -> None:
        """For one that turned out not to be plain."""
        self.deliver([frame_response(ApiKey.PRODUCE, self.lane.version, self.correlation_id, len(body)) + body])


class ProduceLane:
    __slots__ = (
        "_after_correlation", "_answer", "_answer_end", "_answer_size", "_answer_start", "_before_correlation",
        "_collect", "_is_flexible", "_records_at", "acks", "partition", "timeout_ms", "topic", "version",
    )  # fmt: skip

    def __init__(
        self,
        frame: memoryview,
        records_at: int,
        request: ProduceRequest,
        version: int,
        partition: Partition,
        collect: Collect,
    ) -> None:
        """`records_at` is where the length of the records lies in the frame. `collect` takes what comes along."""
        self.version = version
        self.partition = partition
        self.acks = request.acks
        self.timeout_ms = request.timeout_ms
        self.topic = TopicProduceResponse(request.topic_data[0].name, request.topic_data[0].topic_id)
        self._collect = collect
        self._is_flexible = version >= FLEXIBLE_FROM
        self._records_at = records_at
        self._before_correlation = bytes(frame[:CORRELATION_START])
        self._after_correlation = bytes(frame[CORRELATION_END:records_at])
        self._set_answer()

    def _set_answer(self) -> None:
        result = PartitionProduceResponse(self.partition.name.partition, 0, *PLACE.unpack(PLACEHOLDER))
        body = encode_produce_response(self.version, self.response(result))
        head = frame_response(ApiKey.PRODUCE, self.version, 0, len(body))
        start, self._answer_end = (head + body).split(PLACEHOLDER)
        self._answer_size, self._answer_start = start[:4], start[8:]
        self._answer = Struct(f">4si{len(self._answer_start)}sqqq{len(self._answer_end)}s").pack

    def response(self, result: PartitionProduceResponse) -> ProduceResponse:
        return ProduceResponse([TopicProduceResponse(self.topic.name, self.topic.topic_id, [result])])

    def take(self, frame: memoryview, connection: Connection) -> LaneRequest | None:
        """None: it does not fit, or there is something to be said about it that the general way says better."""
        partition = self.partition
        batch = self._batch_in(frame)
        if (
            batch is None
            or partition.leader is None
            or (self.acks == ALL_IN_SYNC and partition.leader.is_under_min_isr)
        ):
            return None
        (correlation_id,) = CORRELATION.unpack_from(frame, CORRELATION_START)
        request = LaneRequest(connection, self, correlation_id)
        self._collect(partition, batch, request)
        return request

    def _batch_in(self, frame: memoryview) -> memoryview | None:
        position = self._records_at
        if (
            len(frame) < position + HEAD_BYTES
            or frame[CORRELATION_END:position] != self._after_correlation
            or frame[:CORRELATION_START] != self._before_correlation
        ):
            return None
        if self._is_flexible:
            length, position = read_uvarint(frame, position)
            end = position + length - 1
            if end + len(NO_TAGS) != len(frame) or frame[end:] != NO_TAGS:
                return None
        else:
            (length,) = LENGTH.unpack_from(frame, position)
            position += LENGTH.size
            end = position + length
            if end != len(frame):
                return None
        if (
            end - position < HEAD_BYTES
            or frame[position + MAGIC_POSITION] != MAGIC_V2
            or frame[position + ATTRIBUTES_POSITION + 1] & TRANSACTIONAL
        ):
            return None
        return frame[position:end]

    def fits(self, frame: memoryview) -> bool:
        return self._batch_in(frame) is not None

    def answer(self, correlation_id: int, base_offset: int, log_append_time_ms: int) -> bytes:
        return self._answer(
            self._answer_size,
            correlation_id,
            self._answer_start,
            base_offset,
            log_append_time_ms,
            self.partition.log.log_start_offset,
            self._answer_end,
        )


def lane_of(
    frame: memoryview, request: ProduceRequest, version: int, partition: Partition, collect: Collect
) -> ProduceLane | None:
    """The lane that this request, which has one partition, leaves behind; None where its bytes are not plain."""
    records = request.topic_data[0].partition_data[0].records
    if version < FIRST_VERSION or request.transactional_id is not None or records is None:
        return None
    length = encode_compact_count(len(records)) if version >= FLEXIBLE_FROM else LENGTH.pack(len(records))
    tags_bytes = len(NO_TAGS) if version >= FLEXIBLE_FROM else 0
    records_at = len(frame) - tags_bytes - len(records) - len(length)
    lane = ProduceLane(frame, records_at, request, version, partition, collect)
    return lane if lane.fits(frame) else None
