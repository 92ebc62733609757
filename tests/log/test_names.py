"""Names in a partition folder (SPEC L1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.log.names import SEGMENT_SUFFIXES, SNAPSHOT, offset_name, parse_offset_name


@given(offset=st.integers(0, 2**63 - 1), suffix=st.sampled_from([*SEGMENT_SUFFIXES, SNAPSHOT, ".log.swap"]))
def test_there_and_back(offset: int, suffix: str) -> None:
    name = offset_name(offset, suffix)
    assert parse_offset_name(name) == (offset, suffix)
    assert len(name) == 20 + len(suffix)


def test_as_kafka_names_them() -> None:
    assert offset_name(0, ".log") == "00000000000000000000.log"
    assert offset_name(2**63 - 1, ".timeindex") == "09223372036854775807.timeindex"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "0.log",
        "000000000000000000000.log",
        "0000000000000000000a.log",
        "-0000000000000000001.log",
        "+0000000000000000001.log",
        " 0000000000000000001.log",
        "0000000000000_000001.log",
        "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠.log",
        "00000000000000000000",
        "00000000000000000000log",
    ],
)
def test_other_names_are_left_alone(name: str) -> None:
    assert parse_offset_name(name) is None


def test_names_sort_as_their_offsets() -> None:
    offsets = [0, 1, 9, 10, 99, 10**10, 2**63 - 1]
    assert sorted(offset_name(offset, ".log") for offset in offsets) == [offset_name(each, ".log") for each in offsets]
