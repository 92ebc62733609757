"""The transaction coordinator's records as batches of `__transaction_state`, and back.

One decision is one batch, so that it is in the log as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.broker.coordinator_loading import Damaged
from strandline.broker.coordinator_replay import replay_batches, stored_records
from strandline.records.batch import BatchHead, Buffer
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.transactions.formats import decode_record, encode_record
from strandline.transactions.records import TransactionRecord
from strandline.transactions.shard import TransactionShard
from strandline.transactions.states import EPOCH_BUMPS


def encode_batch(records: Sequence[TransactionRecord], now_ms: int) -> bytearray:
    return build_batch(
        [Record(index, now_ms, *encode_record(record, EPOCH_BUMPS)) for index, record in enumerate(records)]
    )


def replay(shard: TransactionShard, data: Buffer, damaged: Damaged) -> int | None:
    """As `replay_batches`. An id of which a record cannot be read is where the record before it left it."""

    def apply(head: BatchHead, batch: memoryview) -> None:
        if not head.is_control:
            for _, record in stored_records(batch, decode_record, damaged):
                shard.apply(record)

    return replay_batches(data, apply, damaged)
