"""How many entries a request has, against a count of its decoded self, in every version of every API."""

from __future__ import annotations

import tracemalloc
from dataclasses import fields, is_dataclass
from random import Random
from struct import pack
from typing import Any

import pytest
from tests.wire.kio_twin import EVERY_REQUEST, messages

from strandline.model.failures import ProtocolError
from strandline.wire.codec import decode_request, encode
from strandline.wire.entries import check_entries
from strandline.wire.versions import ApiKey, is_flexible


def entries_in(value: Any, version: int, flexible: bool) -> int:
    if isinstance(value, list):
        return len(value) + sum(entries_in(element, version, flexible) for element in value)
    if not is_dataclass(value) or isinstance(value, type):
        return 0
    present = [entry for entry in fields(value) if entry.metadata["wire"].is_in(version)]
    default = type(value)()
    tags = [
        entry
        for entry in present
        if entry.metadata["wire"].tag is not None and getattr(value, entry.name) != getattr(default, entry.name)
    ]
    inside = sum(entries_in(getattr(value, entry.name), version, flexible) for entry in present)
    return inside + (len(tags) if flexible else 0)


@pytest.mark.parametrize(("key", "version"), EVERY_REQUEST)
def test_the_bound_is_exact(key: int, version: int) -> None:
    for value in messages(key, "request", version, count=8):
        body = encode(value, version)
        count = entries_in(value, version, is_flexible(key, version))
        check_entries(key, version, memoryview(body), count)
        check_entries(key, version, memoryview(body + b"trailing"), count)
        if count:
            with pytest.raises(ProtocolError, match=r"max\.entries\.per\.request"):
                check_entries(key, version, memoryview(body), count - 1)


@pytest.mark.parametrize(("key", "version"), EVERY_REQUEST)
def test_what_cannot_be_decoded_is_refused_here_too(key: int, version: int) -> None:
    chance = Random(f"entries {key} {version}")
    for value in messages(key, "request", version, count=8):
        body = bytearray(encode(value, version))
        if body:
            body[chance.randrange(len(body))] = chance.choice([0, 0x7F, 0x80, 0xFF])
        assert is_refused(check_entries, key, version, bytes(body), 2**31) == is_refused(
            decode_request, key, version, bytes(body)
        )


def is_refused(function: Any, *arguments: Any) -> bool:
    try:
        function(*arguments)
    except ProtocolError:
        return True
    return False


def test_counting_costs_nothing_and_stops_at_the_bound() -> None:
    body = pack(">i", 10**6) + b"\0\x01a" * 10**6
    tracemalloc.start()
    with pytest.raises(ProtocolError, match="Metadata with more than 999999 entries"):
        check_entries(ApiKey.METADATA, 1, body, 999_999)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 100_000
