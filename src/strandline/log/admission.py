"""What a leader asks of a batch before it becomes part of the log.

The head is verified in full: size, magic, CRC-32C, counts, timestamps, bits a client may not set. Records are not
touched, except where a rule is about them: a compacted topic needs keys, another codec is wanted, or the topic stamps
arrival time. Answers are Kafka's error codes (reliability §7.2).
"""

from __future__ import annotations

from array import array

from strandline.model.failures import CorruptData, ErrorCode, Refused
from strandline.model.settings import LONG_MAX, LogSettings
from strandline.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL,
    HEAD,
    HEAD_BYTES,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC_POSITION,
    MAGIC_V2,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHead,
    Buffer,
    set_max_timestamp,
)
from strandline.records.builder import seal_batch
from strandline.records.compression import DECOMPRESSED_BYTES_MAX, Codec, codec_named
from strandline.records.crc import crc32c
from strandline.records.placing import Limits
from strandline.records.record import records_section
from strandline.records.varint import LONG_MIN
from strandline.records.walk import COLUMNS, KEY_LENGTH, OFFSET_DELTA, TIMESTAMP_DELTA, walk_records

CLIENT_ATTRIBUTES = CODEC_MASK | LOG_APPEND_TIME | TRANSACTIONAL
COORDINATOR_ATTRIBUTES = CLIENT_ATTRIBUTES | CONTROL

# What a batch may hold once it is decompressed, where that is done here: so many times `max.message.bytes`.
GROWTH_MAX = 64
GROWN_BYTES_MIN = 16 * 2**20  # which is allowed in any case


class Admission:
    """The rules of one topic, taken apart once so that the common batch passes in a handful of comparisons."""

    __slots__ = ("_after_max_ms", "_before_max_ms", "_size_bytes_max", "_touches_records", "settings")

    def __init__(self, settings: LogSettings) -> None:
        self.settings = settings
        self._size_bytes_max = min(settings.max_message_bytes, settings.segment_bytes)
        self._after_max_ms = settings.message_timestamp_after_max_ms
        stamps = settings.message_timestamp_type == "LogAppendTime"  # whatever the producer's clock says
        self._before_max_ms = LONG_MAX if stamps else settings.message_timestamp_before_max_ms
        self._touches_records = settings.compacts or settings.compression_type != "producer" or stamps

    def plain_limits(self, now_ms: int, room: tuple[int, int, int], pending_bytes: int) -> Limits | None:
        """Within which no rule has anything to say about a batch, where that can be told from its head.

        `room` is the segment's, of which `pending_bytes` are taken.
        """
        if self._touches_records:
            return None
        bytes_left, last_offset_max, latest_ms = room
        if latest_ms > now_ms + self._after_max_ms:
            latest_ms = now_ms + self._after_max_ms
        earliest_ms = now_ms - self._before_max_ms
        return self._size_bytes_max, bytes_left - pending_bytes, last_offset_max, earliest_ms, latest_ms

    def admit(self, batch: Buffer, now_ms: int, from_client: bool) -> tuple[Buffer, BatchHead]:
        """The batch to write, which may be another one than was given, and its head. `Refused` says why not."""
        size = len(batch)
        if size < HEAD_BYTES:
            raise _too_short(batch)
        head = BatchHead._make(HEAD.unpack_from(batch))
        if head.magic != MAGIC_V2 or head.batch_length + LENGTH_END != size or size > self._size_bytes_max:
            raise _misfit(batch, head, self.settings)
        if crc32c(memoryview(batch)[ATTRIBUTES_POSITION:]) != head.crc:
            raise Refused(ErrorCode.CORRUPT_MESSAGE, "the CRC of the batch does not match its bytes")
        _check_head(head, from_client)
        if self._touches_records:
            batch, head = _with_records_touched(batch, head, self.settings, now_ms)
        if from_client and (
            head.max_timestamp > now_ms + self._after_max_ms
            or (head.base_timestamp < now_ms - self._before_max_ms and head.base_timestamp != NO_TIMESTAMP)
        ):
            raise _untimely(head, self.settings, now_ms)
        return batch, head


def _with_records_touched(
    batch: Buffer, head: BatchHead, settings: LogSettings, now_ms: int
) -> tuple[Buffer, BatchHead]:
    if not head.is_control:
        if settings.compacts:
            _check_records(batch, head, settings)
        wanted = settings.compression_type
        if wanted != "producer" and codec_named(wanted) != head.codec:
            batch, head = _recompress(batch, head, codec_named(wanted), settings)
            if len(batch) > min(settings.max_message_bytes, settings.segment_bytes):
                raise _misfit(batch, head, settings)
    if settings.message_timestamp_type == "LogAppendTime":
        batch, head = _stamp(batch, head, now_ms)
    return batch, head


def _check_head(head: BatchHead, from_client: bool) -> None:
    attributes = head.attributes
    allowed_attributes = CLIENT_ATTRIBUTES if from_client else COORDINATOR_ATTRIBUTES
    if attributes & ~allowed_attributes or attributes & CODEC_MASK > Codec.ZSTD:
        raise Refused(ErrorCode.INVALID_RECORD, f"attributes {attributes:#06x} are not a client's to set")
    if attributes & LOG_APPEND_TIME:
        raise Refused(ErrorCode.INVALID_TIMESTAMP, "only the broker may stamp records with append time")
    if head.record_count <= 0 or head.last_offset_delta != head.record_count - 1:
        raise Refused(
            ErrorCode.INVALID_RECORD,
            f"{head.record_count} records do not fit a last offset delta of {head.last_offset_delta}",
        )
    if head.producer_id >= 0:
        if head.base_sequence < 0 and from_client:
            raise Refused(ErrorCode.INVALID_RECORD, f"base sequence {head.base_sequence} with a producer id")
    elif attributes & TRANSACTIONAL:
        raise Refused(ErrorCode.INVALID_RECORD, "a transactional batch needs a producer id")


def _untimely(head: BatchHead, settings: LogSettings, now_ms: int) -> Refused:
    latest = now_ms + settings.message_timestamp_after_max_ms
    if head.max_timestamp > latest:
        return Refused(ErrorCode.INVALID_TIMESTAMP, f"timestamp {head.max_timestamp} is later than {latest}")
    earliest = now_ms - settings.message_timestamp_before_max_ms
    return Refused(ErrorCode.INVALID_TIMESTAMP, f"timestamp {head.base_timestamp} is earlier than {earliest}")


def _check_records(batch: Buffer, head: BatchHead, settings: LogSettings) -> None:
    """Compaction goes by keys, offsets and timestamps, and must not stumble over what a client made up."""
    _, columns = _walk(batch, head, settings)
    if columns[OFFSET_DELTA::COLUMNS] != array("q", range(head.record_count)):
        raise Refused(ErrorCode.INVALID_RECORD, "the offsets of the records do not follow one another")
    deltas = columns[TIMESTAMP_DELTA::COLUMNS]
    if head.base_timestamp + min(deltas) < LONG_MIN or head.base_timestamp + max(deltas) > LONG_MAX:
        raise Refused(ErrorCode.INVALID_TIMESTAMP, "the timestamp of a record does not fit 64 bits")
    if -1 in columns[KEY_LENGTH::COLUMNS]:
        raise Refused(ErrorCode.INVALID_RECORD, "a compacted topic takes only records that have a key")


def _walk(batch: Buffer, head: BatchHead, settings: LogSettings) -> tuple[Buffer, array[int]]:
    """Everybody waits meanwhile: a second for 256 MiB, which a few kilobytes may hold."""
    bytes_max = min(max(GROWN_BYTES_MIN, GROWTH_MAX * settings.max_message_bytes), DECOMPRESSED_BYTES_MAX)
    try:
        section = records_section(batch, bytes_max)
        return section, walk_records(section, head.record_count)
    except CorruptData as error:
        raise Refused(ErrorCode.INVALID_RECORD, str(error)) from None


def _recompress(batch: Buffer, head: BatchHead, codec: Codec, settings: LogSettings) -> tuple[Buffer, BatchHead]:
    section, _ = _walk(batch, head, settings)
    sealed = seal_batch(
        section,
        base_offset=head.base_offset,
        last_offset_delta=head.last_offset_delta,
        base_timestamp=head.base_timestamp,
        max_timestamp=head.max_timestamp,
        record_count=head.record_count,
        attributes=head.attributes,
        codec=codec,
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
        base_sequence=head.base_sequence,
    )
    return sealed, BatchHead._make(HEAD.unpack_from(sealed))


def _stamp(batch: Buffer, head: BatchHead, now_ms: int) -> tuple[Buffer, BatchHead]:
    writable = batch if isinstance(batch, bytearray) else bytearray(batch)
    set_max_timestamp(writable, now_ms, log_append_time=True)
    return writable, head._replace(max_timestamp=now_ms, attributes=head.attributes | LOG_APPEND_TIME)


def _begins_with_a_batch(batch: Buffer, head: BatchHead) -> bool:
    """And goes on after it. If not, its length is as wrong as the rest."""
    end = head.batch_length + LENGTH_END
    return HEAD_BYTES <= end < len(batch) and crc32c(memoryview(batch)[ATTRIBUTES_POSITION:end]) == head.crc


def _too_short(batch: Buffer) -> Refused:
    if len(batch) > MAGIC_POSITION and batch[MAGIC_POSITION] in (0, 1):
        return _old_format(batch[MAGIC_POSITION])
    return Refused(ErrorCode.CORRUPT_MESSAGE, f"{len(batch)} bytes are too few for a record batch")


def _old_format(magic: int) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, f"message format v{magic} must be converted to v2 first")


def _misfit(batch: Buffer, head: BatchHead, settings: LogSettings) -> Refused:
    size = len(batch)
    if head.magic in (0, 1):
        return _old_format(head.magic)
    if head.magic != MAGIC_V2:
        return Refused(ErrorCode.CORRUPT_MESSAGE, f"magic byte {head.magic} is not a record format")
    if _begins_with_a_batch(batch, head):
        return Refused(ErrorCode.INVALID_RECORD, "a produce request carries one batch for a partition")
    if head.batch_length + LENGTH_END != size:
        return Refused(ErrorCode.CORRUPT_MESSAGE, f"batch length {head.batch_length} does not fit {size} bytes")
    if size > settings.max_message_bytes:
        return Refused(
            ErrorCode.MESSAGE_TOO_LARGE, f"{size} bytes exceed max.message.bytes={settings.max_message_bytes}"
        )
    return Refused(ErrorCode.RECORD_LIST_TOO_LARGE, f"{size} bytes exceed segment.bytes={settings.segment_bytes}")
