"""The control records of KRaft's metadata log as the JSON that Kafka's dump prints (KIP-595, 630, 853).

All are "flexible" messages: int16 version first, arrays and strings with a length of one more than it is, as an
unsigned varint (0 for null), and at the end of each structure a count of tagged fields, of which none are known here.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from struct import Struct
from typing import Any
from uuid import UUID

from strandline.model.failures import CorruptData
from strandline.model.ids import encode_id
from strandline.records.control import control_type

LEADER_CHANGE = 2
CONTROL_TYPE_NAMES = {
    0: "ABORT",
    1: "COMMIT",
    LEADER_CHANGE: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}

INT16, INT32, INT64, UINT16 = Struct(">h"), Struct(">i"), Struct(">q"), Struct(">H")


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def number(self, form: Struct) -> int:
        (value,) = form.unpack_from(self.data, self.position)
        self.position += form.size
        return int(value)

    def take(self, length: int) -> bytes:
        taken = self.data[self.position : self.position + length]
        if len(taken) != length:
            raise CorruptData("the control record is cut short")
        self.position += length
        return taken

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80 or shift > 28:
                return value

    def string(self) -> str:
        return self.take(self.varint() - 1).decode(errors="replace")

    def identity(self) -> str:
        return encode_id(UUID(bytes=self.take(16)))

    def array(self, read: Callable[[_Reader], dict[str, Any]]) -> list[dict[str, Any]]:
        return [self.structure(read) for _ in range(self.varint() - 1)]

    def structure(self, read: Callable[[_Reader], dict[str, Any]]) -> dict[str, Any]:
        values = read(self)
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())
        return values


def _leader_change(reader: _Reader) -> dict[str, Any]:
    version = reader.number(INT16)

    def voter(each: _Reader) -> dict[str, Any]:
        values: dict[str, Any] = {"voterId": each.number(INT32)}
        return values if version < 1 else values | {"voterDirectoryId": each.identity()}

    return {
        "version": version,
        "leaderId": reader.number(INT32),
        "voters": reader.array(voter),
        "grantingVoters": reader.array(voter),
    }


def _snapshot_header(reader: _Reader) -> dict[str, Any]:
    return {"version": reader.number(INT16), "lastContainedLogTimestamp": reader.number(INT64)}


def _snapshot_footer(reader: _Reader) -> dict[str, Any]:
    return {"version": reader.number(INT16)}


def _kraft_version(reader: _Reader) -> dict[str, Any]:
    return {"version": reader.number(INT16), "kRaftVersion": reader.number(INT16)}


def _voters(reader: _Reader) -> dict[str, Any]:
    return {"version": reader.number(INT16), "voters": reader.array(_voter)}


def _voter(reader: _Reader) -> dict[str, Any]:
    return {
        "voterId": reader.number(INT32),
        "voterDirectoryId": reader.identity(),
        "endpoints": reader.array(_endpoint),
        "kRaftVersionFeature": reader.structure(_feature),
    }


def _endpoint(reader: _Reader) -> dict[str, Any]:
    return {"name": reader.string(), "host": reader.string(), "port": reader.number(UINT16)}


def _feature(reader: _Reader) -> dict[str, Any]:
    return {"minSupportedVersion": reader.number(INT16), "maxSupportedVersion": reader.number(INT16)}


FORMS = {
    LEADER_CHANGE: ("LeaderChange:", _leader_change),
    3: ("SnapshotHeader", _snapshot_header),
    4: ("SnapshotFooter", _snapshot_footer),
    5: ("KRaftVersion", _kraft_version),
    6: ("KRaftVoters", _voters),
}


def control_fields(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """What a control record says; only its type where the rest is unknown or cannot be read."""
    kind = control_type(key)
    fields: dict[str, Any] = {"controlType": CONTROL_TYPE_NAMES.get(kind, "UNKNOWN"), "controlTypeId": kind}
    try:
        if kind in (0, 1):
            (fields["coordinatorEpoch"],) = INT32.unpack_from(value or b"", INT16.size)
        elif kind in FORMS:
            fields["controlRecord"] = _Reader(value or b"").structure(FORMS[kind][1])
    except (struct.error, CorruptData):
        pass
    return fields


def control_text(key: bytes | None, value: bytes | None) -> str:
    """As Kafka 4 prints it at the end of a record's line."""
    fields = control_fields(key, value)
    if "coordinatorEpoch" in fields:
        return f"endTxnMarker: {fields['controlType']} coordinatorEpoch: {fields['coordinatorEpoch']}"
    if "controlRecord" in fields:
        return f"{FORMS[fields['controlTypeId']][0]} {json.dumps(fields['controlRecord'], separators=(',', ':'))}"
    return f"controlType: {fields['controlType']}({fields['controlTypeId']})"
