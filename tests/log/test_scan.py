"""The walks over a segment's file agree with one another, whatever the sizes of batches and chunks."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.making_logs import NOW

from strandline.log.filesystem import File
from strandline.log.scan import SCAN_BYTES, SMALLEST_BATCH_BYTES, find_batch, peek_batch, read_batches, scan_heads
from strandline.model.failures import CorruptData
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.heads import head_of
from strandline.records.legacy import build_legacy
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk
from strandline.simulation.simulated_file import SimulatedFile


def file_of(content: bytes) -> File:
    file = SimulatedDisk().open("/file", create=True)
    file.append([content])
    return file


def one_batch(offset: int, magic: int, value_bytes: int, count: int) -> bytes:
    if magic < 2 and count == 1:
        return bytes(build_legacy([Record(offset, NOW, None, b"x" * value_bytes)], magic=magic))
    records = [Record(offset + index, NOW, b"k", b"x" * value_bytes) for index in range(count)]
    if magic < 2:
        return bytes(build_legacy(records, magic=magic, codec=Codec.GZIP))
    return bytes(build_batch(records))


SHAPES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([0, 0, 1, 3, 50, 1300, SCAN_BYTES - 70, 9000]), st.integers(1, 3)),
    min_size=1,
    max_size=12,
)


def laid_out(shapes: list[tuple[int, int, int]]) -> list[bytes]:
    batches, offset = [], 100
    for magic, value_bytes, count in shapes:
        batches.append(one_batch(offset, magic, value_bytes, count))
        offset += count
    return batches


@settings(max_examples=80)
@given(shapes=SHAPES, chunk_bytes=st.sampled_from([26, 27, 61, 100, 4096, 10**6]))
def test_all_walks_agree(shapes: list[tuple[int, int, int]], chunk_bytes: int) -> None:
    batches = laid_out(shapes)
    content = b"".join(batches)
    file, end = file_of(content), len(content)
    expected, position = [], 0
    for batch in batches:
        expected.append((position, batch))
        position += len(batch)
    assert [(at, bytes(batch)) for at, batch in read_batches(file, 0, end, chunk_bytes)] == expected
    heads = list(scan_heads(file, 0, end))
    assert heads == [(at, head_of(batch)) for at, batch in expected]
    for at, head in heads:
        for offset in range(head.base_offset, head.next_offset):
            assert find_batch(file, 0, end, offset) == (at, head.size_bytes)
            assert find_batch(file, at, end, offset) == (at, head.size_bytes)
    assert find_batch(file, 0, end, heads[-1][1].next_offset) is None


@settings(max_examples=40)
@given(shapes=SHAPES, cut=st.integers(0, 10**9))
def test_a_batch_cut_short_ends_the_walk(shapes: list[tuple[int, int, int]], cut: int) -> None:
    batches = laid_out(shapes)
    content = b"".join(batches)
    cut %= len(content)
    whole, position = [], 0
    for batch in batches:
        if position + len(batch) <= cut:
            whole.append((position, batch))
        position += len(batch)
    for file in (file_of(content), file_of(content[:cut])):
        assert [(at, bytes(batch)) for at, batch in read_batches(file, 0, cut)] == whole
        assert [at for at, _ in scan_heads(file, 0, cut)] == [at for at, _ in whole]


def test_a_file_shorter_than_told() -> None:
    """It was truncated under a reader, who gets nothing and no failure."""
    content = one_batch(0, 2, 50, 1)
    file = file_of(content[:20])
    assert find_batch(file, 0, len(content), 0) is None
    assert list(scan_heads(file, 0, len(content))) == []
    assert list(read_batches(file, 0, len(content))) == []


@pytest.mark.parametrize("chunk_bytes", [26, 61, 100, 150, 10**6])
def test_a_file_that_ends_in_the_middle_of_a_batch_though_more_was_told(chunk_bytes: int) -> None:
    """The walk ends there. It does not wait for the rest, which will not come."""
    batch = one_batch(0, 2, 50, 1)
    content = batch * 4
    for size_bytes in range(len(batch), 2 * len(batch)):
        file = file_of(content[:size_bytes])
        assert [at for at, _ in read_batches(file, 0, len(content), chunk_bytes)] == [0]


@pytest.mark.parametrize("value_bytes", [50, 300, 1000, 5000])
def test_little_is_read_twice(value_bytes: int) -> None:
    """What the end of a chunk cuts is read again. Among batches of one size that happens once."""
    batch = one_batch(0, 2, value_bytes, 1)
    content = batch * 50
    file = file_of(content)
    with patch.object(SimulatedFile, "read", autospec=True, side_effect=SimulatedFile.read) as read:
        assert sum(1 for _ in read_batches(file, 0, len(content), 1024)) == 50
    read_bytes = sum(length for _, _, length in (call.args for call in read.call_args_list))
    assert read_bytes <= len(content) + max(1024, len(batch))


@pytest.mark.parametrize("garbage", [bytes(200), b"\xff" * 200, b"\0" * 8 + b"\0\0\0\x0d" + bytes(188)])
def test_bytes_that_cannot_be_a_batch(garbage: bytes) -> None:
    good = one_batch(0, 2, 50, 1)
    content = good + garbage
    file, end = file_of(content), len(content)
    assert find_batch(file, 0, end, 0) == (0, len(good))
    with pytest.raises(CorruptData, match=f"position {len(good)}"):
        find_batch(file, 0, end, 1)
    with pytest.raises(CorruptData, match=f"position {len(good)}"):
        list(scan_heads(file, 0, end))
    with pytest.raises(CorruptData, match=f"position {len(good)}"):
        list(read_batches(file, 0, end))


def test_an_index_entry_that_points_at_no_batch() -> None:
    batches = laid_out([(2, 50, 1)] * 5)
    content = b"".join(batches)
    file, size = file_of(content), len(batches[0])
    assert find_batch(file, size, len(content), 103, expected=range(100, 102)) == (3 * size, size)
    for position in range(size + 1, 2 * size):
        with pytest.raises(CorruptData):
            find_batch(file, position, len(content), 103, expected=range(100, 102))


def test_a_peek_at_an_index_entry_believes_the_batch_only() -> None:
    batches = laid_out([(2, 50, 2)] * 3)
    content = b"".join(batches)
    file, size = file_of(content), len(batches[0])
    assert [peek_batch(file, size, 3 * size, 103, offset) for offset in (102, 103)] == [(size, size)] * 2
    assert [peek_batch(file, size, 3 * size, 103, offset) for offset in (101, 104)] == [None] * 2
    assert peek_batch(file, size, 3 * size, 102, 102) is None  # it ends elsewhere than the index says
    assert peek_batch(file, size, 2 * size - 1, 103, 102) is None  # it is cut
    for position in (*range(size), *range(size + 1, 4 * size)):
        assert peek_batch(file, position, 3 * size, 103, 102) is None


def test_a_peek_leaves_old_formats_to_the_walk() -> None:
    old = one_batch(0, 1, 50, 3)
    assert peek_batch(file_of(old), 0, len(old), 2, 1) is None


def test_the_smallest_message() -> None:
    """An empty v0 message is shorter than what a look ahead reads."""
    smallest = one_batch(0, 0, 0, 1)
    assert len(smallest) == SMALLEST_BATCH_BYTES
    content = b"".join(one_batch(offset, 0, 0, 1) for offset in range(400))
    file = file_of(content)
    for offset in range(400):
        assert find_batch(file, 0, len(content), offset) == (26 * offset, 26)
    assert find_batch(file, 0, len(content), 400) is None
