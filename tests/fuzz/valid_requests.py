"""Requests that a client might send: any API in any version, its fields filled by chance with words that mean a thing.

A request of nonsense is turned away at the first field. One that names topics, groups and partitions that are there
gets to the handlers, and that is where mutations hurt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from random import Random
from struct import pack
from typing import Any

from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.wire.codec import encode
from strandline.wire.layout import Message, WireType
from strandline.wire.versions import SPOKEN, Api

INT_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
GROUPS = ["readers", "writers", "", "group-\u00e9"]
MEMBERS = ["", "member-1", "member-2"]
CONFIGS = ["retention.ms", "cleanup.policy", "segment.bytes", "log.retention.ms", "no.such.setting"]
WORDS = ["", "range", "consumer", "uniform", "127.0.0.1", "a" * 300, "..", "../x", "a/b", "\u0000", "-1", "1"]
SHORT_WAITS_MS = [0, 1, 5, 20]  # a request that waits long is no news, and holds up the run


def request_class(api: Api) -> type[Message]:
    found: type[Message] = getattr(import_module(f"strandline.wire.messages.{api.module}"), f"{api.name}Request")
    return found


class ValidRequests:
    def __init__(self, chance: Random, topics: dict[str, bytes], api_versions: dict[int, tuple[int, int]]) -> None:
        """`topics` with their ids; `api_versions` as the broker advertises them."""
        self._chance = chance
        self._topics = [*topics, "no-such-topic", *(f"made-{number}" for number in range(5))]
        self._topic_ids = [*topics.values(), bytes(16), bytes(range(16))]
        self.kinds = [
            (SPOKEN[key], version)
            for key, (first, last) in api_versions.items()
            for version in range(max(first, SPOKEN[key].first_version), last + 1)
        ]

    def frame(self, api: Api, version: int, correlation_id: int) -> bytes:
        """Without its length."""
        head = pack(">hhih", api.key, version, correlation_id, 4) + b"fuzz"
        tags = b"\0" if version >= api.flexible_from else b""
        return head + tags + encode(self._filled(request_class(api), version), version)

    def _filled(self, structure: type[Any], version: int) -> Any:
        filled = structure()
        for field in fields(structure):
            wire = field.metadata.get("wire")
            if isinstance(wire, WireType) and wire.is_in(version) and (wire.tag is None or self._chance.random() < 0.5):
                setattr(filled, field.name, self._value(field.name, wire, version))
        return filled

    def _value(self, name: str, wire: WireType, version: int) -> Any:
        if wire.becomes_nullable and version >= wire.nullable_since and self._chance.random() < 0.2:
            return None
        if wire.is_array:
            return [self._one(name, wire, version) for _ in range(self._chance.choice([0, 1, 1, 1, 2, 3]))]
        return self._one(name, wire, version)

    def _one(self, name: str, wire: WireType, version: int) -> Any:
        if wire.structure is not None:
            return self._filled(wire.structure, version)
        makers: dict[str, Callable[[], Any]] = {
            "boolean": lambda: self._chance.random() < 0.5,
            "string": lambda: self._text(name),
            "bytes": lambda: self._chance.randbytes(self._chance.randrange(40)),
            "records": self._records,
            "uuid": lambda: self._chance.choice(self._topic_ids),
            "uint16": lambda: self._chance.randrange(2**16),
        }
        return makers[wire.name]() if wire.name in makers else self._integer(name, INT_BITS[wire.name])

    def _text(self, name: str) -> str:
        chance = self._chance
        if chance.random() < 0.1:
            return chance.choice(WORDS)
        if "group" in name or name == "key":
            return chance.choice(GROUPS)
        if "member" in name or "instance" in name:
            return chance.choice(MEMBERS)
        if "config" in name:
            return chance.choice(CONFIGS)
        if "topic" in name or name in ("name", "resource_name"):
            return chance.choice([*self._topics, *CONFIGS[:2]])
        return chance.choice([*WORDS, *CONFIGS])

    def _integer(self, name: str, bits: int) -> int:
        chance = self._chance
        limit: int = 2 ** (bits - 1)
        if chance.random() < 0.1:
            return chance.choice([-limit, -2, limit - 1, chance.randrange(-limit, limit)])
        if name.endswith("_ms"):
            return chance.choice(SHORT_WAITS_MS)
        if name in ("acks", "required_acks", "replica_id", "broker_id", "isolation_level"):
            return chance.choice([-1, 0, 1])
        if "bytes" in name:
            return chance.choice([0, 1, 1_000, min(limit - 1, 1_000_000)])
        return chance.choice([-1, 0, 0, 0, 1, 2, 3])

    def _records(self) -> bytes:
        chance = self._chance
        records = [Record(0, 1_700_000_000_000 + chance.randrange(1_000), b"key", chance.randbytes(20))]
        identity: dict[str, Any] = {}
        if chance.random() < 0.3:
            identity = {"producer_id": chance.randrange(5), "producer_epoch": 0, "base_sequence": chance.randrange(3)}
        return bytes(build_batch(records, **identity))
