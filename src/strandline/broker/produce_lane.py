"""The short way of a Produce request: one that looks like the one before it on the same connection.

A producer that fills one partition sends requests which differ in their correlation id and their records, and in
nothing else:

    api key, version | correlation id | client id … topic, partition | length, records | tags
       the same           differs               the same                  differs        the same

So a connection remembers a plain request as a lane. A frame that fits it is recognised by two comparisons, and its
partition is known without decoding anything; its answer is one `pack` into a template. Those of one receive are taken
together: one write, one answer of many. Whatever does not fit takes the general way (`handlers.produce`), which may
leave a new lane behind.

One that fills many partitions sends each its own request (librdkafka does), so a connection has many lanes, found by
what stands before the records. Once it has one lane of a topic, the first request for another partition needs nothing
more than that partition: the two differ in the index, which stands last before the records. It does not go the general
way, and the requests after it do not have to follow it there. Their number is bounded, of a connection and of all;
beyond that the general way is the way, which costs half as much again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from struct import Struct
from typing import Protocol

from strandline.broker.connection import LANE_BYTES_MAX, NOTHING_TAKEN, Connection, Pending, Taken
from strandline.broker.partition import Partition
from strandline.log.log_writer import Appended
from strandline.model.failures import Refused
from strandline.model.settings import LONG_MAX
from strandline.records.alike import (
    CORRELATION_END,
    CORRELATION_START,
    SIZE_BYTES,
    TAGS_BYTES,
    batch_after,
    find_batches,
)
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
LANES_MAX = 2_048  # of a connection, half a kilobyte each, or twice `LANE_BYTES_MAX` more
LANES_OF_ALL_MAX = 16_384  # but each connection may have one
MISSES_MAX = 32 * LANES_MAX  # then those that there are have had their time
LENGTH = Struct(">i")
INDEX = Struct(">i")
INDEX_AND_ERROR = Struct(">ih")  # what stands before the base offset in an answer
read_correlation_id = Struct(">i").unpack_from
PLACE = Struct(">qqq")  # base offset, log append time, log start offset in an answer
PLACEHOLDER = PLACE.pack(0x5374_7261_6E64_6C69, 0x6E65_2068_6967_6820, 0x7761_7465_726D_6172)


class Appending(Protocol):
    """What becomes of the requests of a lane."""

    collected: dict[Partition, list[Buffer]]  # of requests that came before: others must not overtake them

    def partition_beside(self, lane: ProduceLane, index: int) -> Partition | None:
        """Another of the lane's topic, as it is now."""

    def append_run(
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
        "_answer", "_answer_end", "_answer_size", "_answer_start", "_appending", "_before", "_is_flexible",
        "acks", "key", "partition", "timeout_ms", "topic", "version",
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
        self._before = bytes(frame[:CORRELATION_START])
        self.key = bytes(frame[CORRELATION_END:records_at])  # client, acks, topic, partition
        self._set_answer()

    def _set_answer(self) -> None:
        result = PartitionProduceResponse(self.partition.name.partition, 0, *PLACE.unpack(PLACEHOLDER))
        body = encode_produce_response(self.version, self.response(result))
        head = frame_response(ApiKey.PRODUCE, self.version, 0, len(body))
        start, self._answer_end = (head + body).split(PLACEHOLDER)
        self._answer_size, self._answer_start = start[:4], start[8:]
        self._answer = _packing(len(self._answer_start), len(self._answer_end))

    def beside(self, key: bytes) -> ProduceLane | None:
        """The lane of another partition of the topic, if there is one; the key tells which."""
        (index,) = INDEX.unpack_from(key, len(key) - INDEX.size)
        partition = self._appending.partition_beside(self, index)
        if partition is None:
            return None
        lane = copy(self)
        lane.partition, lane.key = partition, key
        lane._answer_start = self._answer_start[: -INDEX_AND_ERROR.size] + INDEX_AND_ERROR.pack(index, 0)
        return lane

    def is_begun_by(self, start: memoryview) -> bool:
        """Whether a frame that begins so has the API and version of the lane."""
        return start[:CORRELATION_START] == self._before

    def response(self, result: PartitionProduceResponse) -> ProduceResponse:
        return ProduceResponse([TopicProduceResponse(self.topic.name, self.topic.topic_id, [result])])

    def take(
        self, frame: memoryview | None, received: memoryview, frame_bytes_max: int, connection: Connection
    ) -> Taken:
        leader = self.partition.leader
        if (
            leader is None
            or leader.is_fenced
            or (self.acks == ALL_IN_SYNC and leader.is_under_min_isr)
            or self._appending.collected
        ):
            return NOTHING_TAKEN  # what there is to be said, the general way says better
        found = find_batches(received, self._before, self.key, self._is_flexible, frame_bytes_max)
        batches, correlation_ids, end = found
        if frame is not None:
            batch = self._batch_in(frame)
            if batch is None:
                return NOTHING_TAKEN
            batches.insert(0, batch)
            correlation_ids.insert(0, *read_correlation_id(frame, CORRELATION_START))
        if not batches:
            return NOTHING_TAKEN
        return self._appending.append_run(self, batches, correlation_ids, connection), len(batches), end

    def _batch_in(self, frame: memoryview) -> memoryview | None:
        """Of one frame, without its size."""
        if frame[:CORRELATION_START] != self._before:
            return None
        return batch_after(frame, CORRELATION_END, len(frame), self.key, self._is_flexible)

    def fits(self, frame: memoryview) -> bool:
        return self._batch_in(frame) is not None

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

    def answer_to(self, correlation_id: int, outcome: Appended, log_start_offset: int) -> bytes:
        base_offset, _, log_append_time_ms, _ = outcome
        size, start, end = self._answer_size, self._answer_start, self._answer_end
        return self._answer(size, correlation_id, start, base_offset, log_append_time_ms, log_start_offset, end)


@cache
def _packing(start_bytes: int, end_bytes: int) -> Callable[..., bytes]:
    """Lanes of one topic share it."""
    return Struct(f">4si{start_bytes}sqqq{end_bytes}s").pack


class ProduceLanes:
    """Those of one connection, whose requests name topic and partition in as many bytes."""

    __slots__ = ("_by_key", "_by_topic", "_key_end", "_missed")
    count_of_all = 0

    def __init__(self, key_end: int) -> None:
        self._key_end = key_end
        self._by_key: dict[bytes, ProduceLane] = {}
        self._by_topic: dict[bytes, ProduceLane] = {}  # one of each, by its key without the index
        self._missed = 0  # requests for which there was no place

    def take(
        self, frame: memoryview | None, received: memoryview, frame_bytes_max: int, connection: Connection
    ) -> Taken:
        start = received[SIZE_BYTES : SIZE_BYTES + self._key_end] if frame is None else frame
        lane = self._by_key.get(key := self.key_in(start))
        if lane is not None:
            return lane.take(frame, received, frame_bytes_max, connection)
        lane = self._beside(key, start)
        if lane is None:
            return NOTHING_TAKEN
        taken = lane.take(frame, received, frame_bytes_max, connection)
        if taken is not NOTHING_TAKEN:
            self.add(lane)
        return taken

    def _beside(self, key: bytes, start: memoryview) -> ProduceLane | None:
        """A new one, where the request is for a partition beside one that is known."""
        known = self._by_topic.get(key[: -INDEX.size])
        if known is None or not self._has_room or not known.is_begun_by(start):
            return None
        return known.beside(key)

    def key_in(self, frame: memoryview) -> bytes:
        return bytes(frame[CORRELATION_END : self._key_end])

    def fits(self, lane: ProduceLane) -> bool:
        return CORRELATION_END + len(lane.key) == self._key_end

    def has_room_for(self, key: bytes) -> bool:
        """Who has turned to other partitions gets room for them, in time."""
        if key in self._by_key:
            return True
        if self._has_room:
            return True
        self._missed += 1
        if self._missed >= MISSES_MAX:
            self.clear()
        return not self._by_key

    @property
    def _has_room(self) -> bool:
        return len(self._by_key) < LANES_MAX and ProduceLanes.count_of_all < LANES_OF_ALL_MAX

    def add(self, lane: ProduceLane) -> None:
        ProduceLanes.count_of_all += lane.key not in self._by_key
        self._by_key[lane.key] = lane
        self._by_topic[lane.key[: -INDEX.size]] = lane

    def clear(self) -> None:
        ProduceLanes.count_of_all -= len(self._by_key)
        self._by_key.clear()
        self._by_topic.clear()
        self._missed = 0

    def __del__(self) -> None:
        ProduceLanes.count_of_all -= len(self._by_key)


def open_lane(
    frame: memoryview,
    request: ProduceRequest,
    version: int,
    partition: Partition,
    appending: Appending,
    connection: Connection,
) -> None:
    """If a later request of the connection looks like this one, which has one partition, it will be known by that."""
    lanes = connection.lane
    if isinstance(lanes, ProduceLanes) and not lanes.has_room_for(lanes.key_in(frame)):
        return
    lane = lane_of(frame, request, version, partition, appending)
    if lane is None:
        return
    if not isinstance(lanes, ProduceLanes) or not lanes.fits(lane):
        lanes = connection.lane = ProduceLanes(CORRELATION_END + len(lane.key))
    lanes.add(lane)


def lane_of(
    frame: memoryview, request: ProduceRequest, version: int, partition: Partition, appending: Appending
) -> ProduceLane | None:
    """The lane that this request, which has one partition, leaves behind; None where its bytes are not plain."""
    index, records = request.topic_data[0].partition_data[0].index, request.topic_data[0].partition_data[0].records
    if version < FIRST_VERSION or request.transactional_id is not None or records is None:
        return None
    length = encode_compact_count(len(records)) if version >= FLEXIBLE_FROM else LENGTH.pack(len(records))
    tags_bytes = TAGS_BYTES if version >= FLEXIBLE_FROM else 0
    records_at = len(frame) - tags_bytes - len(records) - len(length)
    if records_at > LANE_BYTES_MAX:
        return None
    if frame[records_at - INDEX.size : records_at] != INDEX.pack(index):
        return None  # something follows the records, and what is taken for them would be others
    lane = ProduceLane(frame, records_at, request, version, partition, appending)
    return lane if lane.fits(frame) else None
