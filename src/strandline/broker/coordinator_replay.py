"""A coordinator's log, or a piece of it, into a new shard.

A batch whose bytes have rotted or a record that cannot be read is passed over and told. To refuse the whole partition
for it, as Kafka does, would stop everybody else who lives there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from strandline.broker.coordinator_loading import Damaged
from strandline.model.failures import CorruptData
from strandline.records.batch import BatchHead, Buffer, split_batches
from strandline.records.heads import head_of, verified_head_of
from strandline.records.record import read_records

R = TypeVar("R")


def replay_batches(data: Buffer, apply: Callable[[BatchHead, memoryview], object], damaged: Damaged) -> int | None:
    """Apply every whole batch in these bytes; gives the offset after the last of them, None where there is none."""
    next_offset = None
    for batch in split_batches(data):
        try:
            head = verified_head_of(batch)
            apply(head, batch)
        except CorruptData as damage:
            head = head_of(batch)
            damaged(f"offsets {head.base_offset} to {head.last_offset}: {damage}")
        next_offset = head.next_offset
    return next_offset


def stored_records(
    batch: memoryview, decode: Callable[[bytes, bytes | None], R | None], damaged: Damaged
) -> Iterator[tuple[int, R]]:
    """Those that can be read and are meant for us, with their offsets."""
    for record in read_records(batch):
        try:
            decoded = None if record.key is None else decode(record.key, record.value)
        except CorruptData as damage:
            damaged(f"offset {record.offset}: {damage}")
        else:
            if decoded is not None:
                yield record.offset, decoded
