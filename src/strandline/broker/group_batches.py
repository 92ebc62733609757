"""The coordinator's records as batches of `__consumer_offsets`, and back.

One decision is one batch, so that it is in the log as a whole or not at all. Only tombstones may need several: a group
with very many offsets can be deleted, and half a deletion is a deletion that has begun.

Reading, a batch whose bytes have rotted or a record that cannot be read is passed over and told. To refuse the whole
partition for it, as Kafka does, would stop every other group that lives there.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.broker.coordinator_loading import Damaged
from strandline.groups.formats import decode_record, encode_record
from strandline.groups.offsets import NO_PRODUCER_ID
from strandline.groups.records import GroupRecord
from strandline.groups.shard import GroupShard
from strandline.model.failures import CorruptData
from strandline.records.batch import BatchHead, Buffer, split_batches
from strandline.records.builder import build_batch
from strandline.records.control import read_marker
from strandline.records.heads import head_of, verified_head_of
from strandline.records.record import Record, read_records


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
    """Apply every whole batch in these bytes; gives the offset after the last of them, None where there is none."""
    next_offset = None
    for batch in split_batches(data):
        try:
            head = verified_head_of(batch)
            _replay_batch(shard, head, batch, damaged)
        except CorruptData as damage:
            head = head_of(batch)
            damaged(f"offsets {head.base_offset} to {head.last_offset}: {damage}")
        next_offset = head.next_offset
    return next_offset


def _replay_batch(shard: GroupShard, head: BatchHead, batch: memoryview, damaged: Damaged) -> None:
    if head.is_control:
        marker = read_marker(batch)
        if marker is not None:
            shard.transaction_ended(head.producer_id, committed=marker.is_commit)
        return
    producer_id = head.producer_id if head.is_transactional else NO_PRODUCER_ID
    for record in read_records(batch):
        try:
            decoded = None if record.key is None else decode_record(record.key, record.value)
        except CorruptData as damage:
            damaged(f"offset {record.offset}: {damage}")
        else:
            if decoded is not None:
                shard.apply(decoded, record.offset, producer_id)
