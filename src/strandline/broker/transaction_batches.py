"""The transaction coordinator's records as batches of `__transaction_state`, and back.

One decision is one batch, so that it is in the log as a whole or not at all.

Reading, a batch whose bytes have rotted or a record that cannot be read is passed over and told: the id it was about is
then where the record before it left it. To refuse the whole partition, as Kafka does, would stop every other id.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.broker.coordinator_loading import Damaged
from strandline.model.failures import CorruptData
from strandline.records.batch import Buffer, split_batches
from strandline.records.builder import build_batch
from strandline.records.heads import head_of, verified_head_of
from strandline.records.record import Record, read_records
from strandline.transactions.formats import decode_record, encode_record
from strandline.transactions.records import TransactionRecord
from strandline.transactions.shard import TransactionShard
from strandline.transactions.states import EPOCH_BUMPS


def encode_batch(records: Sequence[TransactionRecord], now_ms: int) -> bytearray:
    return build_batch(
        [Record(index, now_ms, *encode_record(record, EPOCH_BUMPS)) for index, record in enumerate(records)]
    )


def replay(shard: TransactionShard, data: Buffer, damaged: Damaged) -> int | None:
    """Apply every whole batch in these bytes; gives the offset after the last of them, None where there is none."""
    next_offset = None
    for batch in split_batches(data):
        try:
            head = verified_head_of(batch)
            if not head.is_control:
                _replay_batch(shard, batch, damaged)
        except CorruptData as damage:
            head = head_of(batch)
            damaged(f"offsets {head.base_offset} to {head.last_offset}: {damage}")
        next_offset = head.next_offset
    return next_offset


def _replay_batch(shard: TransactionShard, batch: memoryview, damaged: Damaged) -> None:
    for record in read_records(batch):
        try:
            decoded = None if record.key is None else decode_record(record.key, record.value)
        except CorruptData as damage:
            damaged(f"offset {record.offset}: {damage}")
        else:
            if decoded is not None:
                shard.apply(decoded)
