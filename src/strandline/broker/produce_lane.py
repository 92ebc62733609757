"""The short way of a Produce request: one that looks like the one before it on the same connection.

A producer that fills one partition sends requests which differ in their correlation id and their records, and in
nothing else:

    api key, version | correlation id | client id … topic, partition | length, records | tags
       the same           differs               the same                  differs        the same

So a connection remembers its last plain request as a lane. A frame that fits it is recognised by two comparisons, and
its partition is known without decoding anything; its answer is one `pack` into a template. Those of one receive are
taken together: one write, one answer of many. Whatever does not fit takes the general way (`handlers.produce`), which
may leave a new lane behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Protocol

from strandline.broker.connection import NOTHING_TAKEN, Connection, Pending, Taken
from strandline.broker.partition import Partition
from strandline.log.log_writer import Appended
from strandline.model.failures import Refused
from strandline.model.settings import LONG_MAX
from strandline.records.batch import ATTRIBUTES_POSITION, HEAD_BYTES, MAGIC_POSITION, MAGIC_V2, TRANSACTIONAL
from strandline.wire.header import frame_response
from strandline.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from strandline.wire.primitives import Buffer, encode_compact_count
from strandline.wire.produce import FLEXIBLE_FROM, encode_produce_response
from strandline.wire.versions import ApiKey

ALL_IN_SYNC = -1
FIRST_VERSION = 7  # older ones may not have zstd, and answers before 5 have no log start offset
CORRELATION_START, CORRELATION_END = 4, 8
LENGTH = Struct(">i")
SIZE_BYTES, LENGTH_BYTES = 4, 4
START_BYTES = SIZE_BYTES + CORRELATION_END
TAGS_BYTES = 3  # of the partition, the topic and the request: none
read_start = Struct(">i4si").unpack_from  # size, API key and version, correlation id
read_frame_start = Struct(">4si").unpack_from
PLACE = Struct(">qqq")  # base offset, log append time, log start offset in an answer
PLACEHOLDER = PLACE.pack(0x5374_7261_6E64_6C69, 0x6E65_2068_6967_6820, 0x7761_7465_726D_6172)


class Appending(Protocol):
    """What becomes of the requests of a lane."""

    collected: dict[Partition, list[Buffer]]  # of requests that came before: others must not overtake them

    def append(
        self, lane: ProduceLane, batches: list[memoryview], correlation_ids: list[int], connection: Connection
    ) -> bytes | list[Pending]: ...


class LaneRequest(Pending):
    """One request of a run that could not be answered like the others."""

    __slots__ = ("correlation_id", "lane")

    def __init__(self, connection: Connection, lane: ProduceLane, correlation_id: int) -> None:
        super().__init__(connection)
        self.lane = lane
        self.correlation_id = correlation_id

    @property
    def api_version(self) -> int:
        return self.lane.version

    def answer(self, body: bytes) -> None:
        self.deliver([frame_response(ApiKey.PRODUCE, self.lane.version, self.correlation_id, len(body)) + body])


class ProduceLane:
    __slots__ = (
        "_after", "_after_bytes", "_answer", "_answer_end", "_answer_size", "_answer_start", "_appending",
        "_before", "_is_flexible", "_read_rest", "_size_min", "acks", "partition", "timeout_ms", "topic", "version",
    )  # fmt: skip

    def __init__(
        self,
        frame: memoryview,
        records_at: int,
        request: ProduceRequest,
        version: int,
        partition: Partition,
        appending: Appending,
    ) -> None:
        """`records_at` is where the length of the records lies in the frame."""
        self.version = version
        self.partition = partition
        self.acks = request.acks
        self.timeout_ms = request.timeout_ms
        self.topic = TopicProduceResponse(request.topic_data[0].name, request.topic_data[0].topic_id)
        self._appending = appending
        self._is_flexible = version >= FLEXIBLE_FROM
        self._before, self._after = bytes(frame[:CORRELATION_START]), bytes(frame[CORRELATION_END:records_at])
        self._after_bytes = len(self._after)
        self._read_rest = Struct(f">{self._after_bytes}s4B").unpack_from
        self._size_min = records_at + HEAD_BYTES
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

    def take(
        self, frame: memoryview | None, received: memoryview, frame_bytes_max: int, connection: Connection
    ) -> Taken:
        leader = self.partition.leader
        batches: list[memoryview] = []
        correlation_ids: list[int] = []
        if (
            leader is None
            or leader.is_fenced
            or (self.acks == ALL_IN_SYNC and leader.is_under_min_isr)
            or self._appending.collected
            or (frame is not None and not self._take_frame(frame, batches, correlation_ids))
        ):
            return NOTHING_TAKEN  # what there is to be said, the general way says better
        before, size_min, position, end = self._before, self._size_min, 0, len(received)
        while end - position >= SIZE_BYTES + size_min:
            size, before_correlation, correlation_id = read_start(received, position)
            frame_end = position + SIZE_BYTES + size
            if before_correlation != before or frame_end > end or not size_min <= size <= frame_bytes_max:
                break
            batch = self._batch_in(received, position + START_BYTES, frame_end)
            if batch is None:
                break
            batches.append(batch)
            correlation_ids.append(correlation_id)
            position = frame_end
        if not batches:
            return NOTHING_TAKEN
        return self._appending.append(self, batches, correlation_ids, connection), len(batches), position

    def _take_frame(self, frame: memoryview, batches: list[memoryview], correlation_ids: list[int]) -> bool:
        """One without its size."""
        if len(frame) < self._size_min:
            return False
        before_correlation, correlation_id = read_frame_start(frame)
        batch = self._batch_in(frame, START_BYTES - SIZE_BYTES, len(frame))
        if batch is None or before_correlation != self._before:
            return False
        batches.append(batch)
        correlation_ids.append(correlation_id)
        return True

    def _batch_in(self, buffer: memoryview, position: int, frame_end: int) -> memoryview | None:
        """What a frame has after its correlation id begins at `position`."""
        after, first, second, third, fourth = self._read_rest(buffer, position)
        if after != self._after:
            return None
        position += self._after_bytes
        end = frame_end
        if self._is_flexible:
            if first < 0x80:
                length, position = first, position + 1
            elif second < 0x80:
                length, position = first & 0x7F | second << 7, position + 2
            elif third < 0x80:
                length, position = first & 0x7F | (second & 0x7F) << 7 | third << 14, position + 3
            else:
                return None
            end -= TAGS_BYTES
            if position + length - 1 != end or buffer[end] or buffer[end + 1] or buffer[end + 2]:
                return None
        else:
            position += LENGTH_BYTES
            if position + (first << 24 | second << 16 | third << 8 | fourth) != end:
                return None
        if (
            end - position < HEAD_BYTES
            or buffer[position + MAGIC_POSITION] != MAGIC_V2
            or buffer[position + ATTRIBUTES_POSITION + 1] & TRANSACTIONAL
        ):
            return None
        return buffer[position:end]

    def fits(self, frame: memoryview) -> bool:
        return self._batch_in(frame, START_BYTES - SIZE_BYTES, len(frame)) is not None

    def answers(self, correlation_ids: list[int], outcomes: Sequence[Appended | Refused]) -> bytes | None:
        """Of a run, if all of them can be given at once."""
        log_start_offset, pack = self.partition.log.log_start_offset, self._answer
        size, start, end = self._answer_size, self._answer_start, self._answer_end
        committed_below = self.partition.high_watermark if self.acks == ALL_IN_SYNC else LONG_MAX
        answers = []
        for correlation_id, outcome in zip(correlation_ids, outcomes, strict=True):
            if type(outcome) is not Appended:
                return None
            base_offset, last_offset, log_append_time_ms, _ = outcome
            if last_offset >= committed_below:
                return None
            answers.append(pack(size, correlation_id, start, base_offset, log_append_time_ms, log_start_offset, end))
        return b"".join(answers)


def lane_of(
    frame: memoryview, request: ProduceRequest, version: int, partition: Partition, appending: Appending
) -> ProduceLane | None:
    """The lane that this request, which has one partition, leaves behind; None where its bytes are not plain."""
    records = request.topic_data[0].partition_data[0].records
    if version < FIRST_VERSION or request.transactional_id is not None or records is None:
        return None
    length = encode_compact_count(len(records)) if version >= FLEXIBLE_FROM else LENGTH.pack(len(records))
    tags_bytes = TAGS_BYTES if version >= FLEXIBLE_FROM else 0
    records_at = len(frame) - tags_bytes - len(records) - len(length)
    lane = ProduceLane(frame, records_at, request, version, partition, appending)
    return lane if lane.fits(frame) else None
