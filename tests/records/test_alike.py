"""Frames that are alike: the twins find the same batches in whatever was received, and no others."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.records import alike
from strandline.records.alike import Found
from strandline.records.builder import build_batch
from strandline.records.record import Record

Finding = Callable[[memoryview, bytes, bytes, bool, int], Found]
TWINS: list[Finding] = [alike.find_batches_pure]
if alike.IS_COMPILED:
    TWINS.append(alike.find_batches)

every_twin = pytest.mark.parametrize("find", TWINS)
BEFORE, AFTER = b"\0\0\0\x09", b"client and topic"
BATCH = bytes(build_batch([Record(0, 1_000, None, b"value")]))
LARGE = bytes(build_batch([Record(0, 1_000, None, b"v" * 20_000)]))


def varint(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def frame_of(
    records: bytes,
    correlation_id: int = 7,
    *,
    before: bytes = BEFORE,
    after: bytes = AFTER,
    flexible: bool = True,
    tags: bytes = b"\0\0\0",
) -> bytes:
    length = varint(len(records) + 1) if flexible else pack(">i", len(records))
    frame = before + pack(">i", correlation_id) + after + length + records + (tags if flexible else b"")
    return pack(">i", len(frame)) + frame


def found(
    find: Finding, stream: bytes, flexible: bool = True, frame_bytes_max: int = 10**6
) -> tuple[list[bytes], list[int], int]:
    batches, correlation_ids, end = find(memoryview(bytearray(stream)), BEFORE, AFTER, flexible, frame_bytes_max)
    return [bytes(batch) for batch in batches], correlation_ids, end


@every_twin
@pytest.mark.parametrize("flexible", [True, False])
def test_whole_frames_are_found_up_to_the_one_that_has_only_begun(find: Finding, flexible: bool) -> None:
    stream = b"".join(frame_of(records, number, flexible=flexible) for number, records in ((1, BATCH), (-2, LARGE)))
    begun = frame_of(BATCH, 3, flexible=flexible)[:-1]
    assert found(find, stream + begun, flexible) == ([BATCH, LARGE], [1, -2], len(stream))


@every_twin
def test_a_batch_is_a_view_that_can_be_written_to(find: Finding) -> None:
    received = memoryview(bytearray(frame_of(BATCH)))
    batches, _, _ = find(received, BEFORE, AFTER, True, 10**6)
    batches[0][0] = 0xFF
    assert bytes(received).count(b"\xff" + BATCH[1:]) == 1


OTHERS = {
    "another version": frame_of(BATCH, before=b"\0\0\0\x08"),
    "another topic": frame_of(BATCH, after=b"client and tonic"),
    "a longer topic": frame_of(BATCH, after=AFTER + b"!"),
    "tags": frame_of(BATCH, tags=b"\0\0\1"),
    "more tags": frame_of(BATCH, tags=b"\0\0\0\0"),
    "fewer tags": frame_of(BATCH, tags=b"\0\0"),
    "an int32 for a varint": frame_of(BATCH, flexible=False),
    "an old format": frame_of(BATCH[:16] + b"\1" + BATCH[17:]),
    "a transaction": frame_of(BATCH[:22] + b"\x10" + BATCH[23:]),
    "too short for a batch": frame_of(BATCH[:60]),
    "no records": frame_of(b""),
    "null records": pack(">i", 29 + len(AFTER)) + BEFORE + bytes(4) + AFTER + bytes(21),
    "a negative size": pack(">i", -5) + frame_of(BATCH)[4:],
    "nothing in it": pack(">i", 0) + frame_of(BATCH)[4:],
    "a varint without end": pack(">i", 200) + BEFORE + bytes(4) + AFTER + b"\xff" * 200,
    "more than is allowed": frame_of(LARGE * 60),
}


@every_twin
@pytest.mark.parametrize("other", OTHERS)
def test_what_is_not_alike_is_left(find: Finding, other: str) -> None:
    alike_frame = frame_of(BATCH)
    assert found(find, alike_frame + OTHERS[other] + alike_frame) == ([BATCH], [7], len(alike_frame))
    assert found(find, OTHERS[other]) == ([], [], 0)


@given(
    pieces=st.lists(st.sampled_from([frame_of(BATCH), frame_of(LARGE), *OTHERS.values()]), max_size=5),
    flips=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=3),
    cut=st.integers(0, 500),
    flexible=st.booleans(),
    frame_bytes_max=st.sampled_from([10**6, 300, 100, 0]),
)
def test_the_twins_agree(
    pieces: list[bytes], flips: list[tuple[int, int]], cut: int, flexible: bool, frame_bytes_max: int
) -> None:
    stream = bytearray(b"".join(pieces))
    for position, value in flips:
        if position < len(stream):
            stream[position] = value
    stream = stream[: len(stream) - cut]
    outcomes = [found(find, bytes(stream), flexible, frame_bytes_max) for find in TWINS]
    assert all(outcome == outcomes[0] for outcome in outcomes)
