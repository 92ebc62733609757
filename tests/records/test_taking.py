"""SPEC R2: the short way of a follower. The twins take the same batches and stop at the same."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack_into

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.records import taking
from strandline.records.batch import CRC, CRC_POSITION, batch_crc, set_place
from strandline.records.builder import build_batch
from strandline.records.placing import Note
from strandline.records.record import Record
from strandline.records.taking import Origin, Room

Taking = Callable[[memoryview, int, int, int, Room], tuple[list[Note], list[Origin | None], int]]
TWINS: list[Taking] = [taking.take_batches_pure]
if taking.IS_COMPILED:
    TWINS.append(taking.take_batches)

every_twin = pytest.mark.parametrize("take", TWINS)
EPOCH, NEXT_OFFSET = 4, 100
LOOSE: Room = (2**40, 2**62, 2**63 - 1)
NUMBERS = [-(2**31), -1, 0, 1, 2, 2**31 - 1]
# Form, position and value of what the head of a batch of two records may say.
CLAIMS = [
    *((">q", 0, value) for value in (-(2**63), -1, 0, 99, 100, 101, 2**62, 2**63 - 1)),
    *((">i", 8, value) for value in (*NUMBERS, 48, 49, 50, 65, 66)),
    *((">i", 12, value) for value in (-1, 0, 3, 4, 5)),
    *((">b", 16, value) for value in (-1, 0, 1, 2, 3)),
    *((">h", 21, value) for value in (*range(9), 16, 32, 64, -1, -(2**15))),
    *((">i", 23, value) for value in NUMBERS),
    *((">q", 35, value) for value in (-(2**63), -1, 0, 999, 1_000, 1_001, 2**63 - 1)),
    *((">q", 43, value) for value in (-(2**63), -2, -1, 0, 7, 2**63 - 1)),
    *((">h", 51, value) for value in (-1, 0, 2**15 - 1)),
    *((">i", 53, value) for value in NUMBERS),
    *((">i", 57, value) for value in NUMBERS),
]


def batch_at(
    base_offset: int,
    epoch: int = EPOCH,
    *,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytearray:
    records = [Record(offset, 1_000, None, b"ab") for offset in range(2)]
    batch = bytearray(
        build_batch(records, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence)
    )
    set_place(batch, 0, base_offset, len(batch) - 12, epoch)
    return batch


IDEMPOTENT = {"producer_id": 7, "producer_epoch": 2, "base_sequence": 5}


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    stream, offset = b"", NEXT_OFFSET
    for _ in range(draw(st.integers(0, 5))):
        batch = batch_at(offset, **draw(st.sampled_from([{}, {}, IDEMPOTENT])))
        chosen = st.lists(st.sampled_from(CLAIMS), max_size=draw(st.sampled_from([0, 0, 0, 3])))
        for form, position, value in draw(chosen):
            pack_into(form, batch, position, value)
        if draw(st.integers(0, 5)):
            CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))
        stream += batch
        offset += draw(st.sampled_from([2, 2, 2, 1, 7]))
    return stream[: draw(st.sampled_from([10**6] * 6 + [0, 60, 61, 62, 100]))]


rooms = st.tuples(
    st.sampled_from([2**40, 2**40, 200, 154, 153, -1]),
    st.sampled_from([2**62, 2**62, 0, 101, 103]),
    st.sampled_from([2**63 - 1, 1_000, 999, -1]),
)


@given(streams(), st.sampled_from([0, 0, 1, 77, 78]), st.sampled_from([0, 100, 101]), rooms)
def test_the_twins_agree(stream: bytes, position: int, next_offset: int, room: Room) -> None:
    position = min(position, len(stream))
    outcomes = [take(memoryview(stream), position, next_offset, EPOCH, room) for take in TWINS]
    assert all(outcome == outcomes[0] for outcome in outcomes)


@every_twin
def test_batches_that_go_on_where_the_log_ends_are_taken(take: Taking) -> None:
    sent = [batch_at(100), batch_at(102), batch_at(110)]  # compaction leaves gaps
    notes, origins, end = take(memoryview(b"".join(sent)), 0, 100, EPOCH, LOOSE)
    size = len(sent[0])
    assert notes == [(size, 101, 1_000), (size, 103, 1_000), (size, 111, 1_000)]
    assert origins == []
    assert end == 3 * size


@every_twin
def test_what_lies_before_the_first_is_not_looked_at(take: Taking) -> None:
    with pytest.raises(ValueError, match="a position is not negative"):
        take(memoryview(bytes(100)), -100, 0, EPOCH, LOOSE)


@every_twin
def test_a_batch_that_is_cut_short_is_left(take: Taking) -> None:
    stream = bytes(batch_at(100) + batch_at(102))
    notes, _, end = take(memoryview(stream[:-1]), 0, 100, EPOCH, LOOSE)
    assert (len(notes), end) == (1, len(stream) // 2)


@every_twin
def test_origins_come_with_their_base_offsets(take: Taking) -> None:
    stream = bytes(batch_at(100) + batch_at(105, **IDEMPOTENT) + batch_at(107))
    _, origins, _ = take(memoryview(stream), 0, 100, EPOCH, LOOSE)
    assert origins == [None, (7, 2, 5, 105), None]


@every_twin
def test_a_bit_that_was_lost_is_found(take: Taking) -> None:
    stream = batch_at(100) + batch_at(102)
    stream[-1] ^= 1
    notes, _, _ = take(memoryview(stream), 0, 100, EPOCH, LOOSE)
    assert len(notes) == 1


@every_twin
@pytest.mark.parametrize("batch", [batch_at(99), batch_at(100, 3), batch_at(100, 5), batch_at(100, -1)])
def test_offsets_below_the_end_and_other_epochs_are_for_the_long_way(take: Taking, batch: bytearray) -> None:
    assert take(memoryview(batch), 0, 100, EPOCH, LOOSE) == ([], [], 0)
