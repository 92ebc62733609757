"""The coordinator's records as batches of `__consumer_offsets`, and back.

One decision is one batch, so that it is in the log as a whole or not at all. Only tombstones may need several: a group
with very many offsets can be deleted, and half a deletion is a deletion that has begun.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.broker.coordinator_loading import Damaged
from strandline.broker.coordinator_replay import replay_batches, stored_records
from strandline.groups.formats import decode_record, encode_record
from strandline.groups.offsets import NO_PRODUCER_ID
from strandline.groups.records import GroupRecord
from strandline.groups.shard import GroupShard
from strandline.records.batch import BatchHead, Buffer
from strandline.records.builder import build_batch
from strandline.records.control import read_marker
from strandline.records.record import Record


def encode_batches(records: Sequence[GroupRecord], now_ms: int, bytes_max: int) -> list[bytearray]:
    """One batch, whatever its size, unless there is nothing but tombstones."""
    batch = build_batch([Record(index, now_ms, *encode_record(record)) for index, record in enumerate(records)])
    if len(batch) <= bytes_max or len(records) == 1 or any(record.value is not None for record in records):
        return [batch]
    middle = len(records) // 2
    return [
        *encode_batches(records[:middle], now_ms, bytes_max),
        *encode_batches(records[middle:], now_ms, bytes_max),
    ]


def encode_in_transaction(
    records: Sequence[GroupRecord], now_ms: int, producer_id: int, producer_epoch: int
) -> bytearray:
    """Offsets that count once the marker of their transaction has come (KIP-98). They have no sequences."""
    return build_batch(
        [Record(index, now_ms, *encode_record(record)) for index, record in enumerate(records)],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
    )


def replay(shard: GroupShard, data: Buffer, damaged: Damaged) -> int | None:
    """As `replay_batches`."""

    def apply(head: BatchHead, batch: memoryview) -> None:
        if head.is_control:
            marker = read_marker(batch)
            if marker is not None:
                shard.transaction_ended(head.producer_id, committed=marker.is_commit)
            return
        producer_id = head.producer_id if head.is_transactional else NO_PRODUCER_ID
        for offset, record in stored_records(batch, decode_record, damaged):
            shard.apply(record, offset, producer_id)

    return replay_batches(data, apply, damaged)
