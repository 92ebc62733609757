"""What a fetch brought for one partition: whole batches, and the records in them that a consumer may see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from strandline.client.failures import ClientError
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition
from strandline.records.batch import (
    BASE_OFFSET,
    MAGIC_V2,
    NO_TIMESTAMP,
    BatchHead,
    magic_of,
    read_head,
    split_batches,
    verify_batch,
)
from strandline.records.record import Headers, read_records


class ConsumedRecord(NamedTuple):
    partition: TopicPartition
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    leader_epoch: int
    is_log_append_time: bool


class Aborted(NamedTuple):
    """From this offset on, until its marker, what this producer wrote is void."""

    first_offset: int
    producer_id: int


@dataclass(slots=True)
class FetchedPartition:
    partition: TopicPartition
    fetch_offset: int
    records: memoryview
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    aborted: list[Aborted] | None = None  # None: everything is to be seen, decided or not
    end_offset: int | None = None  # what lies at or above it is not wanted

    @property
    def size_bytes(self) -> int:
        return len(self.records)

    def batches(self) -> Iterator[memoryview]:
        """Whole ones: a fetch may cut the last one short."""
        try:
            yield from split_batches(self.records)
        except CorruptData as error:
            raise self._damaged(self.fetch_offset, error) from None

    def next_offset(self) -> int:
        """From where to go on."""
        last = None
        for batch in self.batches():
            last = batch
        if last is None:
            if self.records:
                raise ClientError(
                    f"{self.partition} has a batch at offset {self.fetch_offset} that is larger than"
                    " max.partition.fetch.bytes, and the broker does not send it whole; raise that"
                )
            return self.fetch_offset
        return max(self.fetch_offset, self._head(last, check_crcs=False).next_offset)

    def read(self, *, check_crcs: bool = True) -> Iterator[ConsumedRecord]:
        """Without what lies before the offset asked for, control records, and transactions that were aborted."""
        aborted = sorted(self.aborted or [])
        void_producers: set[int] = set()
        for batch in self.batches():
            head = self._head(batch, check_crcs=check_crcs)
            if self.end_offset is not None and head.base_offset >= self.end_offset:
                return
            while aborted and aborted[0].first_offset <= head.last_offset:
                void_producers.add(aborted.pop(0).producer_id)
            if head.is_control:
                if head.producer_id in void_producers and self._is_abort(batch, head):
                    void_producers.discard(head.producer_id)
            elif not (head.is_transactional and head.producer_id in void_producers):
                yield from self._read_batch(batch, head)

    def _read_batch(self, batch: memoryview, head: BatchHead) -> Iterator[ConsumedRecord]:
        try:
            for offset, timestamp, key, value, headers in read_records(batch):
                if offset < self.fetch_offset:
                    continue
                if self.end_offset is not None and offset >= self.end_offset:
                    return
                yield ConsumedRecord(
                    self.partition,
                    offset,
                    timestamp,
                    key,
                    value,
                    headers,
                    head.leader_epoch,
                    head.is_log_append_time and timestamp != NO_TIMESTAMP,
                )
        except CorruptData as error:
            raise self._damaged(head.base_offset, error) from None

    def _head(self, batch: memoryview, *, check_crcs: bool) -> BatchHead:
        try:
            if magic_of(batch) == MAGIC_V2:
                return verify_batch(batch) if check_crcs else read_head(batch)
            from strandline.records.heads import head_of, verified_head_of  # old formats are rare

            return verified_head_of(batch) if check_crcs else head_of(batch)
        except CorruptData as error:
            raise self._damaged(BASE_OFFSET.unpack_from(batch)[0], error) from None

    def _is_abort(self, batch: memoryview, head: BatchHead) -> bool:
        from strandline.records.control import read_marker  # and so are aborted transactions

        try:
            marker = read_marker(batch)
        except CorruptData as error:
            raise self._damaged(head.base_offset, error) from None
        return marker is not None and not marker.is_commit

    def _damaged(self, offset: int, error: CorruptData) -> ClientError:
        return ClientError(f"{self.partition} is damaged at offset {offset}: {error}; pass over it with -o")
