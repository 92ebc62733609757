"""What a producer holds: batches that fill, batches that wait, and for each partition at most one that is under way.

One batch of a partition at a time keeps the order whatever is lost or repeated, and makes the sequence numbers of an
idempotent producer a mere counter. Throughput comes from the size of the batches, which grow while one is under way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import NamedTuple

from strandline.client.failures import ClientError
from strandline.model.partitions import TopicPartition
from strandline.records.batch import HEAD_BYTES, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, TRANSACTIONAL
from strandline.records.builder import encode_record, seal_batch
from strandline.records.compression import Codec
from strandline.records.record import Headers

NO_OFFSET = -1
SEQUENCES = 2**31
RECORD_OVERHEAD_BYTES = 36  # the most that lengths, deltas and counts of a record take, a header's share aside
HEADER_OVERHEAD_BYTES = 10


class ProducerIdentity(NamedTuple):
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    transactional_id: str | None = None

    @property
    def is_idempotent(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID


class Place(NamedTuple):
    """Where a record went. The offset is -1 where no broker told it (acks=0)."""

    partition: TopicPartition
    offset: int


class OutgoingBatch:
    def __init__(self, partition: TopicPartition, now_s: float, timestamp_ms: int) -> None:
        self.partition = partition
        self.created_s = now_s
        self.record_count = 0
        self.attempts = 0  # that failed
        self.is_full = False
        self.sealed: memoryview | None = None  # as it is sent, and sent again
        self.transactional_id: str | None = None
        self.base_offset: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._section = bytearray()
        self._base_timestamp = self._max_timestamp = timestamp_ms

    @property
    def size_bytes(self) -> int:
        return HEAD_BYTES + len(self._section)

    def append(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers) -> int:
        """The number of the record in its batch."""
        number = self.record_count
        encode_record(self._section, number, timestamp_ms - self._base_timestamp, key, value, headers)
        self._max_timestamp = max(self._max_timestamp, timestamp_ms)
        self.record_count = number + 1
        return number

    def seal(self, codec: Codec, identity: ProducerIdentity, base_sequence: int) -> memoryview:
        batch = seal_batch(
            self._section,
            base_offset=0,
            last_offset_delta=self.record_count - 1,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._max_timestamp,
            record_count=self.record_count,
            attributes=0 if identity.transactional_id is None else TRANSACTIONAL,
            codec=codec,
            producer_id=identity.producer_id,
            producer_epoch=identity.producer_epoch,
            base_sequence=base_sequence if identity.is_idempotent else NO_SEQUENCE,
        )
        self.sealed = memoryview(batch)
        self.transactional_id = identity.transactional_id
        return self.sealed

    def delivered(self, base_offset: int) -> None:
        if not self.base_offset.done():
            self.base_offset.set_result(base_offset)

    def failed(self, error: ClientError) -> None:
        if not self.base_offset.done():
            self.base_offset.set_exception(error)
            self.base_offset.exception()  # whoever sent it may not wait for it


class Delivery(NamedTuple):
    """Of one record, which is delivered or fails together with its batch."""

    batch: OutgoingBatch
    number: int

    async def place(self) -> Place:
        """Where it went, or why it did not."""
        base_offset = await asyncio.shield(self.batch.base_offset)
        offset = NO_OFFSET if base_offset == NO_OFFSET else base_offset + self.number
        return Place(self.batch.partition, offset)


class PartitionQueue:
    """What goes to one partition, in order."""

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.waiting: deque[OutgoingBatch] = deque()  # the last may still fill
        self.under_way: OutgoingBatch | None = None
        self.not_before_s = 0.0  # after a failure
        self._identity = ProducerIdentity()
        self._next_sequence = 0

    @property
    def is_idle(self) -> bool:
        return not self.waiting and self.under_way is None

    def batch_for(self, size_bytes: int, batch_size: int, now_s: float, timestamp_ms: int) -> OutgoingBatch:
        """The one to append to; the one before is full if there is no room in it."""
        last = self.waiting[-1] if self.waiting else None
        if last is not None and not last.is_full and last.sealed is None:
            if last.size_bytes + size_bytes <= batch_size:
                return last
            last.is_full = True
        batch = OutgoingBatch(self.partition, now_s, timestamp_ms)
        self.waiting.append(batch)
        return batch

    def take(self, codec: Codec, identity: ProducerIdentity) -> OutgoingBatch:
        """The next one, sealed and under way."""
        batch = self.under_way = self.waiting.popleft()
        if batch.sealed is None:
            if identity != self._identity:
                self._identity, self._next_sequence = identity, 0
            batch.seal(codec, identity, self._next_sequence)
            self._next_sequence = (self._next_sequence + batch.record_count) % SEQUENCES
        return batch

    def put_back(self, not_before_s: float) -> None:
        """To be sent again, before anything else and byte for byte the same."""
        assert self.under_way is not None
        self.waiting.appendleft(self.under_way)
        self.under_way = None
        self.not_before_s = not_before_s


def record_bytes_max(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """What a record can take at most."""
    size = RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
    for header_key, header_value in headers:
        size += HEADER_OVERHEAD_BYTES + 4 * len(header_key) + len(header_value or b"")
    return size
