"""The newest offset of each key, exact, and within its memory (SPEC C6)."""

from __future__ import annotations

import gc
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.log.offset_map import DIGEST_BYTES, NOT_MAPPED, OffsetMap, short_key, table_bytes

ROOMY = 2**20


def filled(count: int, memory_bytes: int = 2**30) -> OffsetMap:
    offset_map = OffsetMap(memory_bytes, 1.0)
    for number in range(count):
        assert offset_map.put(b"key-%011d" % number, 10**9 + number)
    return offset_map


def test_the_latest_offset_of_a_key_wins() -> None:
    offset_map = OffsetMap(ROOMY, 0.9)
    assert offset_map.put(b"a", 1)
    assert offset_map.put(b"b", 2)
    assert offset_map.put(b"a", 3)
    assert (offset_map.get(b"a"), offset_map.get(b"b"), offset_map.get(b"c")) == (3, 2, None)
    assert list(offset_map.newest_offsets([b"c", b"a", None])) == [NOT_MAPPED, 3, NOT_MAPPED]
    assert len(offset_map) == 2


def test_many_at_once_are_as_one_by_one() -> None:
    offset_map = OffsetMap(ROOMY, 0.9)
    assert offset_map.put_all([b"a", b"b", b"a"], [5, 6, 7], key_bytes_max=1)
    assert (offset_map.get(b"a"), offset_map.get(b"b"), len(offset_map)) == (7, 6, 2)


@given(st.lists(st.binary(max_size=80), unique=True))
def test_no_two_keys_are_ever_confused(keys: list[bytes]) -> None:
    """A key of 32 bytes could be the digest of a longer one, so it is digested too."""
    shorts = [short_key(key) for key in keys]
    assert len(set(shorts)) == len(keys)
    assert all(
        short == key if len(key) < DIGEST_BYTES else len(short) == DIGEST_BYTES
        for key, short in zip(keys, shorts, strict=True)
    )
    digest_of_long = short_key(b"x" * 1000)
    assert short_key(digest_of_long) != digest_of_long


def test_a_map_without_room_takes_one_key_and_its_updates() -> None:
    offset_map = OffsetMap(1, 0.9)
    assert not offset_map.put_all([b"a", b"b"], [1, 2], key_bytes_max=1)
    assert offset_map.put(b"a", 1)
    assert not offset_map.put(b"b", 2)
    assert offset_map.put(b"a", 3), "a key that is there needs no room"
    assert (offset_map.get(b"a"), offset_map.get(b"b")) == (3, None)


def test_a_refusal_of_many_changes_nothing() -> None:
    offset_map = OffsetMap(table_bytes(8) + 5 * 80, 1.0)
    assert offset_map.put_all([b"a", b"b"], [1, 2], key_bytes_max=1)
    assert not offset_map.put_all([b"a", b"c", b"d", b"e"], [3, 4, 5, 6], key_bytes_max=1)
    assert (offset_map.get(b"a"), len(offset_map)) == (1, 2)


@pytest.mark.parametrize("memory_bytes", [2_000, 100_000, 1_000_000])
@pytest.mark.parametrize("load_factor", [0.5, 1.0])
def test_it_says_that_it_is_full_before_it_exceeds_its_bound(memory_bytes: int, load_factor: float) -> None:
    offset_map = OffsetMap(memory_bytes, load_factor)
    count = 0
    while offset_map.put(b"key-%011d" % count, count):
        count += 1
    assert offset_map.used_bytes <= memory_bytes * load_factor
    assert count * 250 > memory_bytes * load_factor - 500, "most of the memory is put to use"


@pytest.mark.parametrize("count", [5, 6, 171, 1_000, 43_690, 43_691, 60_000])
def test_the_account_is_what_python_allocates(count: int) -> None:
    """Sizes just below and above the moments at which the table doubles."""
    offset_map = filled(count)
    held = sum(sys.getsizeof(key) + -sys.getsizeof(key) % 16 + 32 for key in offset_map._offsets)
    assert offset_map.used_bytes >= held + sys.getsizeof(offset_map._offsets)
    assert offset_map.used_bytes <= (held + sys.getsizeof(offset_map._offsets)) * 1.05 + 200


def test_the_peak_while_it_grows_is_within_the_bound() -> None:
    """Counted from outside: all that is allocated while a map fills up to its bound."""
    bound = 3_000_000
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        offset_map = OffsetMap(bound, 1.0)
        count = 0
        while offset_map.put(b"key-%011d" % count, 10**9 + count):
            count += 1
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    assert peak <= bound + 1000  # the loop's own few objects
    assert count > bound / 200
