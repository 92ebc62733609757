"""Batches of format v2, built from records, or from a section of records that is already in bytes."""

from __future__ import annotations

from collections.abc import Iterable

from strandline.model.failures import check
from strandline.records.batch import (
    CODEC_MASK,
    CONTROL,
    CRC,
    CRC_POSITION,
    DELETE_HORIZON,
    HEAD,
    HEAD_BYTES,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    Buffer,
    batch_crc,
)
from strandline.records.compression import Codec, compress
from strandline.records.record import Headers, Record
from strandline.records.varint import encode_varint

INT_MAX = 2**31 - 1
ATTRIBUTES = b"\0"  # of a record, unused
NULL = b"\1"  # the varint of -1, a length


def build_batch(
    records: Iterable[Record],
    *,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    log_append_time_ms: int | None = None,
    delete_horizon_ms: int | None = None,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytearray:
    """A batch of these records. Offsets and timestamps that are not given come from them.

    With no records it is the empty batch that compaction leaves to keep a producer's last sequence:
    `base_offset` and `last_offset` must be given, nothing is compressed, and there is no delete horizon.
    """
    records = records if isinstance(records, list | tuple) else list(records)
    if not records:
        check(base_offset is not None and last_offset is not None, "an empty batch needs its offsets")
        codec, delete_horizon_ms = Codec.NONE, None
    base_offset = records[0].offset if base_offset is None else base_offset
    last_offset = records[-1].offset if last_offset is None else last_offset
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    elif base_timestamp is None:
        base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    if log_append_time_ms is not None:
        max_timestamp = log_append_time_ms
    elif max_timestamp is None:
        max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    return seal_batch(
        encode_records(records, base_offset, base_timestamp),
        base_offset=base_offset,
        last_offset_delta=last_offset - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        record_count=len(records),
        attributes=(LOG_APPEND_TIME if log_append_time_ms is not None else 0)
        | (DELETE_HORIZON if delete_horizon_ms is not None else 0)
        | (TRANSACTIONAL if is_transactional else 0)
        | (CONTROL if is_control else 0),
        codec=codec,
        level=level,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )


def seal_batch(
    section: Buffer,
    *,
    base_offset: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    record_count: int,
    attributes: int = 0,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
) -> bytearray:
    """A batch around records that are already encoded: compress them, write the head, then the CRC.

    The codec bits of `attributes` are replaced, so that those of another head may be passed on.
    """
    check(0 <= last_offset_delta <= INT_MAX, f"last offset delta {last_offset_delta}")
    batch = bytearray(HEAD_BYTES)
    batch += section if codec is Codec.NONE else compress(codec, section, level)
    HEAD.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - LENGTH_END,
        leader_epoch,
        MAGIC_V2,
        0,  # the CRC, once the rest is there
        attributes & ~CODEC_MASK | codec,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))
    return batch


def encode_records(records: Iterable[Record], base_offset: int, base_timestamp: int) -> bytearray:
    section = bytearray()
    for offset, timestamp, key, value, headers in records:
        encode_record(section, offset - base_offset, timestamp - base_timestamp, key, value, headers)
    return section


def encode_record(
    target: bytearray,
    offset_delta: int,
    timestamp_delta: int,
    key: Buffer | None,
    value: Buffer | None,
    headers: Headers = (),
) -> None:
    """Append one record in the form that `records.walk` describes."""
    check(0 <= offset_delta <= INT_MAX, f"offset delta {offset_delta}")
    parts: list[Buffer] = [ATTRIBUTES, encode_varint(timestamp_delta), encode_varint(offset_delta)]
    _add_bytes(parts, key)
    _add_bytes(parts, value)
    parts.append(encode_varint(len(headers)))
    for header_key, header_value in headers:
        _add_bytes(parts, header_key.encode("utf-8", "surrogateescape"))
        _add_bytes(parts, header_value)
    body = b"".join(parts)
    target += encode_varint(len(body))
    target += body


def _add_bytes(parts: list[Buffer], data: Buffer | None) -> None:
    if data is None:
        parts.append(NULL)
    else:
        parts += (encode_varint(len(data)), data)
