"""SPEC L2, P2: the short way of a leader. The twins place the same batches, leave the same bytes, stop at the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import pack_into

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.records import placing
from strandline.records.batch import CRC, CRC_POSITION, Buffer, batch_crc, read_head
from strandline.records.builder import build_batch
from strandline.records.placing import Identity, Limits, Note
from strandline.records.record import Record

Placing = Callable[[Sequence[Buffer], int, int, int, Limits], tuple[list[Note], list[Identity | None]]]
TWINS: list[Placing] = [placing.place_batches_pure]
if placing.IS_COMPILED:
    TWINS.append(placing.place_batches)

every_twin = pytest.mark.parametrize("place", TWINS)
LOOSE: Limits = (2**31 - 1, 2**40, 2**62, -(2**63), 2**63 - 1)
NUMBERS = [-(2**31), -1, 0, 1, 2, 2**31 - 1]
MOMENTS = [-(2**63), -1, 0, 999, 1_000, 1_001, 2**63 - 1]
# Form, position and value of what the head of a batch of two records may say.
CLAIMS = [
    *((">i", 8, value) for value in (*NUMBERS, 48, 49, 50)),
    *((">b", 16, value) for value in (-1, 0, 1, 2, 3)),
    *((">h", 21, value) for value in (*range(9), 16, 32, 64, -1, -(2**15))),
    *((">i", 23, value) for value in NUMBERS),
    *((">q", position, value) for position in (27, 35) for value in MOMENTS),
    *((">q", 43, value) for value in (-(2**63), -2, -1, 0, 7, 2**63 - 1)),
    *((">h", 51, value) for value in (-1, 0, 2**15 - 1)),
    *((">i", 53, value) for value in NUMBERS),
    *((">i", 57, value) for value in NUMBERS),
]


def batch_of(*values: bytes, producer_id: int = -1, producer_epoch: int = -1, base_sequence: int = -1) -> bytearray:
    records = [Record(offset, 1_000, None, value) for offset, value in enumerate(values)]
    return bytearray(
        build_batch(records, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence)
    )


@st.composite
def batches(draw: st.DrawFn) -> bytearray:
    options = draw(st.sampled_from([{}, {}, {"producer_id": 7, "producer_epoch": 2, "base_sequence": 5}]))
    batch = batch_of(b"a", b"b", **options)
    for form, position, value in draw(st.lists(st.sampled_from(CLAIMS), max_size=draw(st.sampled_from([0, 0, 0, 3])))):
        pack_into(form, batch, position, value)
    if draw(st.integers(0, 5)):
        CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))
    return batch[: draw(st.sampled_from([10**6] * 6 + [0, 60, 61, 62]))]


limits = st.tuples(
    st.sampled_from([2**31 - 1, 2**31 - 1, 76, 77]),
    st.sampled_from([2**40, 2**40, 200, 154, 153, -1]),
    st.sampled_from([2**62, 2**62, 0, 101, 103]),
    st.sampled_from([-(2**63), 1_000, 1_001]),
    st.sampled_from([2**63 - 1, 1_000, 999, -1]),
)


@given(st.lists(batches(), max_size=5), st.integers(0, 2), st.sampled_from([0, 100, 2**40]), st.integers(0, 9), limits)
def test_the_twins_agree(sent: list[bytearray], start: int, base_offset: int, epoch: int, limits: Limits) -> None:
    outcomes = []
    for place in TWINS:
        mine = [bytearray(batch) for batch in sent]
        outcomes.append((place(mine, start, base_offset, epoch, limits), mine))
    assert all(outcome == outcomes[0] for outcome in outcomes)


@every_twin
def test_offsets_follow_one_another_and_the_rest_stays_as_sent(place: Placing) -> None:
    sent = [batch_of(b"a"), batch_of(b"b", b"c"), batch_of(b"d")]
    mine = [bytearray(batch) for batch in sent]
    notes, identities = place([memoryview(batch) for batch in mine], 0, 2**33, 4, LOOSE)
    assert notes == [(len(sent[0]), 2**33, 1_000), (len(sent[1]), 2**33 + 2, 1_000), (len(sent[2]), 2**33 + 3, 1_000)]
    assert identities == []
    assert [(read_head(batch).base_offset, read_head(batch).leader_epoch) for batch in mine] == [
        (2**33, 4),
        (2**33 + 1, 4),
        (2**33 + 3, 4),
    ]
    assert [batch[16:] for batch in mine] == [batch[16:] for batch in sent]


@every_twin
def test_it_stops_at_the_first_that_is_not_plain_and_leaves_it_as_it_was(place: Placing) -> None:
    damaged = batch_of(b"b")
    damaged[-1] ^= 1
    as_sent = bytes(damaged)
    notes, _ = place([batch_of(b"a"), damaged, batch_of(b"c")], 0, 0, 0, LOOSE)
    assert len(notes) == 1
    assert damaged == as_sent
    assert place([damaged, batch_of(b"c")], 1, 0, 0, LOOSE)[0] == [(len(as_sent), 0, 1_000)]


@every_twin
def test_who_sent_them_is_told(place: Placing) -> None:
    known, unknown = batch_of(b"a", producer_id=7, producer_epoch=2, base_sequence=5), batch_of(b"b")
    for sent, identities in (
        ([known, known], [(7, 2, 5), (7, 2, 5)]),
        ([unknown, unknown, known, unknown], [None, None, (7, 2, 5), None]),
        ([unknown, unknown], []),
    ):
        assert place([bytearray(batch) for batch in sent], 0, 0, 0, LOOSE)[1] == identities


@every_twin
def test_what_lies_before_the_first_is_not_looked_at(place: Placing) -> None:
    with pytest.raises(ValueError, match="a position is not negative"):
        place([batch_of(b"a")], -1, 0, 0, LOOSE)


@every_twin
def test_one_that_cannot_be_written_to_is_not_plain(place: Placing) -> None:
    notes, _ = place([batch_of(b"a"), bytes(batch_of(b"b"))], 0, 10, 1, LOOSE)
    assert [last_offset for _, last_offset, _ in notes] == [10]
