"""Records out of the text of Kafka's DumpLogSegments, so that a test can compare them without our own dump."""

from __future__ import annotations

import re
from dataclasses import dataclass

RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) (?P<timestamp_type>\w+): (?P<timestamp>-?\d+)"
    r" keySize: (?P<key_size>-?\d+) valueSize: (?P<value_size>-?\d+)"
    r"(?: sequence: (?P<sequence>-?\d+) headerKeys: \[(?P<header_keys>.*?)\])?"
    r"(?: isValid: \w+ crc: \d+\}?)?"
    r"(?P<marker> endTxnMarker: \w+ coordinatorEpoch: \d+)?(?P<rest>.*)"
)


@dataclass(frozen=True)
class DumpedRecord:
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    header_keys: tuple[str, ...]
    is_control: bool


def records_in(dump: str) -> list[DumpedRecord]:
    return [_record(match) for match in map(RECORD.fullmatch, dump.splitlines()) if match]


def _record(match: re.Match[str]) -> DumpedRecord:
    rest = match["rest"]
    key_size, value_size = int(match["key_size"]), int(match["value_size"])
    key = value = None
    if match["marker"] is None and key_size >= 0:
        key = rest[len(" key: ") : len(" key: ") + key_size].encode()
        rest = rest[len(" key: ") + key_size :]
    if match["marker"] is None and value_size >= 0:
        value = rest.removeprefix(" payload: ").encode()
        assert len(value) == value_size, match.string
    return DumpedRecord(
        offset=int(match["offset"]),
        timestamp=int(match["timestamp"]),
        key=key,
        value=value,
        header_keys=tuple((match["header_keys"] or "").split(",")) if match["header_keys"] else (),
        is_control=match["marker"] is not None,
    )
