"""Control batches: one record, written by a broker, that no consumer is shown.

    key    int16 version = 0, int16 type: 0 abort, 1 commit, 2 leader change (KRaft), more to come
    value  of abort and commit: int16 version = 0, int32 coordinator epoch

Readers take a newer version for version 0 with fields added at its end, and ignore types they do not know.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from strandline.model.failures import CorruptData
from strandline.records.batch import MAGIC_V2, NO_LEADER_EPOCH, Buffer, read_head
from strandline.records.builder import build_batch
from strandline.records.record import Record, read_records

KEY = Struct(">hh")
VALUE = Struct(">hi")
VERSION = 0
ABORT = 0
COMMIT = 1

# A control record is a few bytes; more in a batch that says it is one is not worth decompressing.
CONTROL_BYTES_MAX = 64 * 1024


class EndTransactionMarker(NamedTuple):
    """The end of a transaction; whose, is in the head of the batch (producer id and epoch)."""

    is_commit: bool
    coordinator_epoch: int


def build_marker(
    *,
    producer_id: int,
    producer_epoch: int,
    is_commit: bool,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    key = KEY.pack(VERSION, COMMIT if is_commit else ABORT)
    return build_batch(
        [Record(base_offset, timestamp, key, VALUE.pack(VERSION, coordinator_epoch))],
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )


def read_marker(batch: Buffer) -> EndTransactionMarker | None:
    """How a transaction ended, or None: a leader change, a type we do not know, a batch that was emptied."""
    head = read_head(batch)
    if head.magic != MAGIC_V2 or not head.is_control:
        raise CorruptData(f"batch at offset {head.base_offset} is not a control batch")
    record = next(read_records(batch, CONTROL_BYTES_MAX), None)
    if record is None:
        return None
    kind = control_type(record.key)
    if kind not in (ABORT, COMMIT):
        return None
    if record.value is None or len(record.value) < VALUE.size:
        raise CorruptData(f"transaction marker at offset {record.offset} has no coordinator epoch")
    version, coordinator_epoch = VALUE.unpack_from(record.value)
    if version < 0:
        raise CorruptData(f"transaction marker at offset {record.offset} has version {version}")
    return EndTransactionMarker(kind == COMMIT, coordinator_epoch)


def control_type(key: bytes | None) -> int:
    if key is None or len(key) < KEY.size:
        raise CorruptData("control record has no type")
    version, kind = KEY.unpack_from(key)
    if version < 0:
        raise CorruptData(f"control record has version {version}")
    return int(kind)
