"""The quick way of offset commits gives what the plain way gives, or leaves it to that."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.groups.formats import decode_plainly, encode_plainly
from strandline.groups.offset_bytes import decode_offset, encode_offset
from strandline.groups.records import GroupRecord, OffsetCommitKey, OffsetCommitValue
from strandline.model.failures import CorruptData

LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
OFFSETS = st.builds(
    GroupRecord,
    st.builds(OffsetCommitKey, st.text(max_size=20), st.text(max_size=20), INTS),
    st.builds(
        OffsetCommitValue, offset=LONGS, leader_epoch=INTS, metadata=st.text(max_size=20), commit_timestamp=LONGS
    ),
)


@given(OFFSETS)
def test_both_write_the_same(record: GroupRecord) -> None:
    assert encode_offset(record) == encode_plainly(record)


@given(OFFSETS)
def test_both_read_the_same(record: GroupRecord) -> None:
    key, value = encode_plainly(record)
    assert decode_offset(key, value) == decode_plainly(key, value) == record


@given(OFFSETS, st.data())
@settings(max_examples=300)
def test_bytes_that_are_not_so_are_left_to_the_plain_way(record: GroupRecord, data: st.DataObject) -> None:
    key, value = (bytearray(part or b"") for part in encode_plainly(record))
    for part in (key, value):
        for _ in range(data.draw(st.integers(0, 2))):
            part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
        del part[data.draw(st.integers(0, len(part))) :]
        part += data.draw(st.binary(max_size=2))
    quick = decode_offset(bytes(key), bytes(value))
    if quick is not None:
        assert quick == decode_plainly(bytes(key), bytes(value))


def test_what_is_left_to_the_plain_way() -> None:
    key = OffsetCommitKey("g", "t", 0)
    own_expiry = OffsetCommitValue(offset=1, commit_timestamp=1, expire_timestamp=2)
    assert encode_offset(GroupRecord(key, None)) is None
    assert encode_offset(GroupRecord(key, own_expiry)) is None
    stored_key, stored_value = encode_plainly(GroupRecord(key, own_expiry))
    assert decode_offset(stored_key, stored_value) is None
    assert decode_offset(stored_key, None) is None


def test_a_name_too_long_to_be_stored_is_no_business_of_the_quick_way() -> None:
    record = GroupRecord(OffsetCommitKey("g" * 40_000, "t", 0), OffsetCommitValue(offset=1, commit_timestamp=1))
    assert encode_offset(record) is None


def test_text_that_is_none() -> None:
    key, value = encode_plainly(
        GroupRecord(OffsetCommitKey("gg", "t", 0), OffsetCommitValue(offset=1, commit_timestamp=1))
    )
    bad = key.replace(b"gg", b"\xff\xfe")
    assert decode_offset(bad, value) is None
    with pytest.raises(CorruptData):
        decode_plainly(bad, value)
