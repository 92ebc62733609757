"""How many entries a request has: elements of its arrays and tagged fields, at every depth.

A request may be large (`socket.request.max.bytes`), and an entry may be a byte or two. A hundred megabytes of topic
names would be read, looked up and answered for a minute, and nobody else would be served meanwhile. So a request has
a bound of entries, too. An entry takes a byte at least: only requests of more bytes than that bound are counted, which
no client sends but for records, and the counting stops where the bound is passed.

Nothing is made of what is read. The walk goes by the layout that the messages declare (`codec`), for all APIs alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from strandline.model.failures import ProtocolError
from strandline.wire.codec import COUNT_READERS, NULL_STRUCTURE, fields_in, request_class, wire_type
from strandline.wire.layout import WireType
from strandline.wire.primitives import BAD_BYTES, Buffer, malformed, read_uvarint, take
from strandline.wire.scalars import reader_of
from strandline.wire.versions import SPOKEN, is_flexible

# Takes a position and how many entries there may be from there on; gives both as they are after it.
Step = Callable[[Buffer, int, int], tuple[int, int]]


def check_entries(api_key: int, version: int, body: Buffer, entries_max: int) -> None:
    """Raises ProtocolError where there are more, or where the bytes are not such a request."""
    structure: type[Any] = request_class(api_key)
    try:
        step = _structure_step(structure, version, is_flexible(api_key, version))  # type: ignore[arg-type]
        step(body, 0, entries_max)
    except TooManyEntries:
        raise ProtocolError(
            f"{SPOKEN[api_key].name} with more than {entries_max} entries: max.entries.per.request"
        ) from None
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed(structure.__name__, version, cause) from None


class TooManyEntries(Exception):
    pass


def _spend(count: int, left: int) -> int:
    if count > left:
        raise TooManyEntries
    return left - count


@cache
def _structure_step(structure: type[Any], version: int, flexible: bool) -> Step:
    plain, tagged = fields_in(structure, version)
    steps = [_field_step(wire_type(entry), version, flexible) for entry in plain]
    tagged_steps = {tag: _field_step(wire_type(entry), version, flexible) for tag, entry in tagged}

    def step(body: Buffer, position: int, left: int) -> tuple[int, int]:
        for field_step in steps:
            position, left = field_step(body, position, left)
        return _step_over_tags(body, position, left, tagged_steps) if flexible else (position, left)

    return step


def _step_over_tags(body: Buffer, position: int, left: int, steps: dict[int, Step]) -> tuple[int, int]:
    count, position = read_uvarint(body, position)
    left = _spend(count, left)
    for _ in range(count):
        tag, position = read_uvarint(body, position)
        size, position = read_uvarint(body, position)
        end = take(body, position, size)
        if tag in steps:
            _, left = steps[tag](body[:end], position, left)
        position = end
    return position, left


def _field_step(wire: WireType, version: int, flexible: bool) -> Step:
    nullable = version >= wire.nullable_since
    if wire.structure is None:
        step = _scalar_step(wire.name, flexible, nullable and not wire.is_array)
    else:
        step = _structure_step(wire.structure, version, flexible)  # type: ignore[arg-type]
    if wire.is_array:
        return _array_step(step, COUNT_READERS[flexible, nullable])
    return _nullable_step(step) if wire.structure is not None and nullable else step


def _scalar_step(name: str, flexible: bool, nullable: bool) -> Step:
    # Bytes are looked at where they are; a copy of them is for whoever decodes.
    read = reader_of("records" if name == "bytes" else name, flexible, nullable)

    def step(body: Buffer, position: int, left: int) -> tuple[int, int]:
        return read(body, position)[1], left

    return step


def _array_step(element_step: Step, read_count: Callable[[Buffer, int], tuple[int, int]]) -> Step:
    def step(body: Buffer, position: int, left: int) -> tuple[int, int]:
        count, position = read_count(body, position)
        left = _spend(max(count, 0), left)
        for _ in range(count):
            position, left = element_step(body, position, left)
        return position, left

    return step


def _nullable_step(step: Step) -> Step:
    def step_or_null(body: Buffer, position: int, left: int) -> tuple[int, int]:
        if body[position] == NULL_STRUCTURE[0]:
            return position + 1, left
        return step(body, position + 1, left)

    return step_or_null
