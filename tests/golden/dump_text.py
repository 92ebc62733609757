"""The text of Kafka's DumpLogSegments: its records, its complaints, and what the versions print differently."""

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


def without_differences(dump: str) -> str:
    """1 a brace after an old message's checksum, 2 a blank at the end of a producer, 3 how a leader change is told."""
    dump = re.sub(r"( isValid: \w+ crc: \d+)\}", r"\1", dump)
    dump = re.sub(r"(?m)^(producerId: .*) $", r"\1", dump)
    return re.sub(r" (controlType: LEADER_CHANGE\(2\)|LeaderChange: \{.*\})", " leader change", dump)


def complaints_in(stderr: str) -> list[tuple[str, str]]:
    """Each line under its heading, less 4 the false alarm about a log's first offset; 5 the order means nothing."""
    found: list[tuple[str, str]] = []
    heading = ""
    for line in stderr.splitlines():
        if not line.startswith(("  ", "Indexed offset")):
            heading = line
        elif not line.startswith("  -1 is followed by "):
            found.append((heading, line))
    return sorted(found)


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
