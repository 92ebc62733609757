"""The dump of a `.log` file: a line for each batch, and one for each record in it (SPEC L11).

In text, the lines are those of Kafka 4's DumpLogSegments with --print-data-log --deep-iteration, to the blank. In JSON,
the fields have the same names, and there are a few more.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from zlib import crc32

from strandline.cli.control_records import control_fields, control_text
from strandline.cli.dump_findings import Findings
from strandline.cli.output import Output, with_bytes
from strandline.cli.targets import Kind, base_offset_of, filesystem, kind_of
from strandline.log.inspection import METADATA_SNAPSHOT_NAME, OFFSET_MAX, is_cut_short
from strandline.log.scan import find_batch, read_batches
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass
from strandline.records.batch import MAGIC_POSITION, MAGIC_V2, BatchHead, batch_crc, magic_of, read_head
from strandline.records.compression import Codec
from strandline.records.legacy import read_checked_records, read_message
from strandline.records.record import Record, read_records

SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
CODEC_NAMES = {int(codec): codec.name.lower() for codec in Codec}


@dataclass(frozen=True, slots=True)
class DumpOptions:
    is_deep: bool = True
    prints_data: bool = True
    verifies_index_only: bool = False
    checks_index_sanity: bool = False
    max_bytes: int | None = None
    offsets: range = range(OFFSET_MAX)


class DumpedRecord(NamedTuple):
    record: Record
    sequence: int | None  # None in the old formats, which have a CRC for each message instead
    crc: int | None
    is_valid: bool


class DumpedBatch:
    """One whole batch of any format, and how it looks."""

    __slots__ = ("batch", "codec", "head", "is_valid", "last_offset", "position", "timestamp_type")

    def __init__(self, position: int, batch: memoryview) -> None:
        self.position = position
        self.batch = batch
        self.head: BatchHead | None = None
        if magic_of(batch) == MAGIC_V2:
            self.head = read_head(batch)
            self.last_offset = self.head.last_offset
            self.is_valid = batch_crc(batch) == self.head.crc
            self.codec = self.head.codec
            self.timestamp_type = "LogAppendTime" if self.head.is_log_append_time else "CreateTime"
        else:
            message = read_message(batch)
            self.last_offset = message.offset
            self.is_valid = crc32(batch[MAGIC_POSITION:]) == message.crc
            self.codec = message.attributes & 0x07
            named = "LogAppendTime" if message.log_append_time_ms is not None else "CreateTime"
            self.timestamp_type = named if message.magic == 1 else "NoTimestampType"

    @property
    def base_offset(self) -> int:
        """Of an old wrapper only the last offset is known before it is opened."""
        return self.last_offset if self.head is None else self.head.base_offset

    def common_fields(self) -> dict[str, Any]:
        magic, crc, max_timestamp = self._magic_crc_max_timestamp()
        return {
            "position": self.position,
            "timestampType": self.timestamp_type,
            "maxTimestamp": max_timestamp,
            "size": len(self.batch),
            "magic": magic,
            "compresscodec": CODEC_NAMES.get(self.codec, f"unknown({self.codec})"),
            "crc": crc,
            "isvalid": self.is_valid,
        }

    def _magic_crc_max_timestamp(self) -> tuple[int, int, int]:
        if self.head is not None:
            return self.head.magic, self.head.crc, self.head.max_timestamp
        message = read_message(self.batch)
        return message.magic, message.crc, message.timestamp

    def fields(self) -> dict[str, Any]:
        head = self.head
        if head is None:
            return {"type": "batch", "offset": self.last_offset} | self.common_fields()
        return {
            "type": "batch",
            "baseOffset": head.base_offset,
            "lastOffset": head.last_offset,
            "count": head.record_count,
            "baseSequence": head.base_sequence,
            "lastSequence": head.last_sequence,
            "producerId": head.producer_id,
            "producerEpoch": head.producer_epoch,
            "partitionLeaderEpoch": head.leader_epoch,
            "isTransactional": head.is_transactional,
            "isControl": head.is_control,
            "deleteHorizonMs": head.delete_horizon_ms,
            "baseTimestamp": head.base_timestamp,
        } | self.common_fields()

    def line(self) -> str:
        head = self.head
        if head is None:
            start = f"offset: {self.last_offset}"
        else:
            start = (
                f"baseOffset: {head.base_offset} lastOffset: {head.last_offset} count: {head.record_count}"
                f" baseSequence: {head.base_sequence} lastSequence: {head.last_sequence}"
                f" producerId: {head.producer_id} producerEpoch: {head.producer_epoch}"
                f" partitionLeaderEpoch: {head.leader_epoch} isTransactional: {java(head.is_transactional)}"
                f" isControl: {java(head.is_control)} deleteHorizonMs: {java_optional(head.delete_horizon_ms)}"
            )
        common = self.common_fields()
        return (
            f"{start} position: {self.position} {self.timestamp_type}: {common['maxTimestamp']}"
            f" size: {common['size']} magic: {common['magic']} compresscodec: {common['compresscodec']}"
            f" crc: {common['crc']} isvalid: {java(self.is_valid)}"
        )

    def records(self) -> Iterator[DumpedRecord]:
        head = self.head
        if head is None:
            for checked in read_checked_records(self.batch):
                yield DumpedRecord(checked.record, None, checked.crc, checked.is_valid)
            return
        for record in read_records(self.batch):
            sequence = head.base_sequence
            if sequence >= 0:
                sequence = (sequence + record.offset - head.base_offset) & 0x7FFF_FFFF
            yield DumpedRecord(record, sequence, None, True)

    def record_line(self, dumped: DumpedRecord, prints_data: bool) -> str:
        offset, timestamp, key, value, headers = dumped.record
        line = f"| offset: {offset} {self.timestamp_type}: {timestamp} keySize: {_size(key)} valueSize: {_size(value)}"
        if dumped.sequence is not None:
            header_keys = ",".join(_shown(header_key) for header_key, _ in headers)
            line += f" sequence: {dumped.sequence} headerKeys: [{header_keys}]"
        else:
            line += f" isValid: {java(dumped.is_valid)} crc: {dumped.crc}"
        if self.is_control:
            return f"{line} {control_text(key, value)}"
        if prints_data:
            if key is not None:
                line += f" key: {java_text(key)}"
            if value is not None:
                line += f" payload: {java_text(value)}"
        return line

    def record_fields(self, dumped: DumpedRecord, prints_data: bool) -> dict[str, Any]:
        offset, timestamp, key, value, headers = dumped.record
        fields: dict[str, Any] = {
            "type": "record",
            "offset": offset,
            "timestampType": self.timestamp_type,
            "timestamp": timestamp,
            "keySize": _size(key),
            "valueSize": _size(value),
        }
        if dumped.sequence is not None:
            fields["sequence"] = dumped.sequence
            fields["headers"] = [{"key": _shown(name)} | with_bytes("value", data) for name, data in headers]
        else:
            fields |= {"isValid": dumped.is_valid, "crc": dumped.crc}
        if self.is_control:
            return fields | control_fields(key, value)
        return fields | with_bytes("key", key) | with_bytes("value", value) if prints_data else fields

    @property
    def is_control(self) -> bool:
        return self.head is not None and self.head.is_control


def dump_batches(path: str, options: DumpOptions, output: Output, findings: Findings) -> None:
    """Print a file of batches; what is behind the last whole one is counted, as Kafka does."""
    if not output.is_json:
        output.line(_title(path))
    file = filesystem.open(path, writable=False)
    try:
        size_bytes = file.size()
        end = size_bytes if options.max_bytes is None else min(size_bytes, options.max_bytes)
        start = valid_bytes = _start(file, end, options.offsets.start)
        walk = _Walk(path, options, output, findings)
        try:
            for position, batch in read_batches(file, start, end):
                if not walk.take(DumpedBatch(position, batch)):
                    return
                valid_bytes = position + len(batch)
        except CorruptData as error:
            findings.damage(f"{path}: {error}; `strandline log check` tells what else is wrong")
            return
        if valid_bytes < end and options.max_bytes is None:
            _tell_trailing(path, end - valid_bytes, output)
            findings.has_damage |= is_cut_short(file, valid_bytes)
    finally:
        file.close()


def _start(file: Any, end: int, offset: int) -> int:
    """Where the batch with the first wanted offset lies; batches are jumped over, not read."""
    if offset <= 0:
        return 0
    found = find_batch(file, 0, end, offset)
    return end if found is None else found[0]


def _tell_trailing(path: str, trailing_bytes: int, output: Output) -> None:
    if output.is_json:
        output.object({"type": "invalid_bytes", "path": path, "bytes": trailing_bytes})
    else:
        output.line(f"Found {trailing_bytes} invalid bytes at the end of {os.path.basename(path)}")


class _Walk:
    def __init__(self, path: str, options: DumpOptions, output: Output, findings: Findings) -> None:
        self.path = path
        self.options = options
        self.output = output
        self.findings = findings
        self.previous_offset = -1

    def take(self, dumped: DumpedBatch) -> bool:
        """False when everything from here on lies beyond the wanted offsets."""
        if dumped.head is not None and dumped.base_offset >= self.options.offsets.stop:
            return False
        if self.output.is_json:
            self.output.object({"path": self.path} | dumped.fields())
        else:
            self.output.line(dumped.line())
        if not dumped.is_valid:
            self.findings.has_damage = True
        if self.options.is_deep:
            try:
                self._take_records(dumped)
            except CorruptData as error:
                self.findings.damage(f"{self.path}: position {dumped.position}: {error}")
        return dumped.last_offset < self.options.offsets.stop

    def _take_records(self, dumped: DumpedBatch) -> None:
        prints_data, offsets, previous = self.options.prints_data, self.options.offsets, self.previous_offset
        for record in dumped.records():
            offset = record.record.offset
            if previous not in (-1, offset - 1):
                self.findings.gap(self.path, previous, offset)
            self.previous_offset = previous = offset
            if offset not in offsets:
                continue
            if self.output.is_json:
                self.output.object({"path": self.path} | dumped.record_fields(record, prints_data))
            else:
                self.output.line(dumped.record_line(record, prints_data))


def _title(path: str) -> str:
    name = os.path.basename(path)
    if kind_of(name) is Kind.LOG:
        return f"Log starting offset: {base_offset_of(path)}"
    snapshot = METADATA_SNAPSHOT_NAME.fullmatch(name)
    if snapshot is None:
        return "KRaft bootstrap snapshot"
    return f"Snapshot end offset: {int(snapshot['offset'])}, epoch: {int(snapshot['epoch'])}"


def java(value: bool) -> str:
    return "true" if value else "false"


def java_text(data: bytes) -> str:
    """Java shows one replacement character for a surrogate, whole or cut short; Python one for each of its bytes."""
    return SURROGATE.sub(b"\xff", data).decode(errors="replace")


def java_optional(value: int | None) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _shown(header_key: str) -> str:
    """A header's key that is not UTF-8 comes with surrogate escapes; Java shows replacement characters."""
    return java_text(header_key.encode("utf-8", "surrogateescape"))
