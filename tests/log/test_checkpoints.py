"""SPEC L8: Kafka's text checkpoints, byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.log.checkpoints import (
    decode_leader_epochs,
    decode_offsets,
    encode_leader_epochs,
    encode_offsets,
    read_leader_epochs,
    read_offsets,
    write_leader_epochs,
    write_offsets,
)
from strandline.log.filesystem import RealFileSystem
from strandline.model.failures import CorruptData
from strandline.model.partitions import TopicPartition

TOPICS = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True)
PARTITIONS = st.builds(TopicPartition, TOPICS, st.integers(0, 2**31 - 1))


def test_offsets_in_kafkas_bytes() -> None:
    offsets = {TopicPartition("orders", 10): 977, TopicPartition("orders", 2): 2**63 - 1}
    assert encode_offsets(offsets) == b"0\n2\norders 2 9223372036854775807\norders 10 977\n"
    assert encode_offsets({}) == b"0\n0\n"


def test_leader_epochs_in_kafkas_bytes() -> None:
    assert encode_leader_epochs([(0, 0), (3, 1000)]) == b"0\n2\n0 0\n3 1000\n"
    assert decode_leader_epochs(b"0\n2\n0 0\n3 1000\n") == [(0, 0), (3, 1000)]


@given(st.dictionaries(PARTITIONS, st.integers(0, 2**63 - 1), max_size=10))
def test_offsets_come_back(offsets: dict[TopicPartition, int]) -> None:
    assert decode_offsets(encode_offsets(offsets)) == offsets


def test_a_file_that_kafka_has_created_but_not_written_is_empty() -> None:
    assert decode_offsets(b"") == {}
    assert decode_leader_epochs(b"") == []


@pytest.mark.parametrize(
    "damaged",
    [
        b"1\n0\n",
        b"x\n0\n",
        b"0\n",
        b"0\nmany\n",
        b"0\n2\norders 0 5\n",
        b"0\n0\norders 0 5\n",
        b"0\n1\norders 0\n",
        b"0\n1\norders 0 5 6\n",
        b"0\n1\norders zero 5\n",
        b"0\n1\norders 0 5_0\n",
        b"0\n1\norders 0 -5\n",
        b"0\n1\norders 0 9223372036854775808\n",
        b"0\n1\norders 2147483648 5\n",
        b"0\n1\norders 0 5",
        b"\x00\x00\x00\x00",
        b"\xff\xfe\xfd",
    ],
)
def test_damage_is_told(damaged: bytes) -> None:
    with pytest.raises(CorruptData):
        decode_offsets(damaged)


@given(st.dictionaries(PARTITIONS, st.integers(0, 2**63 - 1), min_size=1, max_size=5), st.data())
def test_a_file_cut_anywhere_is_never_taken_for_whole(offsets: dict[TopicPartition, int], data: st.DataObject) -> None:
    encoded = encode_offsets(offsets)
    cut = data.draw(st.integers(1, len(encoded) - 1))
    with pytest.raises(CorruptData):
        decode_offsets(encoded[:cut])


def test_files_are_replaced_whole(tmp_path: Path) -> None:
    filesystem, path = RealFileSystem(), os.path.join(tmp_path, "recovery-point-offset-checkpoint")
    assert read_offsets(filesystem, path) == {}
    write_offsets(filesystem, path, {TopicPartition("orders", 0): 100, TopicPartition("orders", 1): 100})
    write_offsets(filesystem, path, {TopicPartition("orders", 0): 7})
    assert read_offsets(filesystem, path) == {TopicPartition("orders", 0): 7}
    assert filesystem.names(str(tmp_path)) == ["recovery-point-offset-checkpoint"]


def test_leader_epochs_live_in_a_file(tmp_path: Path) -> None:
    filesystem, path = RealFileSystem(), os.path.join(tmp_path, "leader-epoch-checkpoint")
    assert read_leader_epochs(filesystem, path) == []
    write_leader_epochs(filesystem, path, [(0, 0), (2, 50)])
    assert read_leader_epochs(filesystem, path) == [(0, 0), (2, 50)]
