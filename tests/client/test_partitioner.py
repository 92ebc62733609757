"""Keys go where Java's client sends them; records without a key stay together for a while."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.client.partitioner import StickyChoice, murmur2, partition_of_key


@pytest.mark.parametrize(
    ("key", "java_hash"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_javas(key: bytes, java_hash: int) -> None:
    assert murmur2(key) == java_hash % 2**32


@given(st.binary(max_size=40), st.integers(1, 1000))
def test_every_key_has_a_partition(key: bytes, count: int) -> None:
    assert 0 <= partition_of_key(key, count) < count
    assert partition_of_key(key, count) == partition_of_key(bytes(key), count)


def test_records_without_a_key_stay_with_a_partition_until_a_batch_has_gone_there() -> None:
    choice = StickyChoice(1000)
    runs = [{choice.choose(5, 100) for _ in range(10)} for _ in range(200)]
    assert all(len(run) == 1 for run in runs)
    assert all(before != after for before, after in pairwise(runs))
    assert set.union(*runs) == {0, 1, 2, 3, 4}


def test_one_partition_is_choice_enough() -> None:
    choice = StickyChoice(0)
    assert [choice.choose(1, 100) for _ in range(3)] == [0, 0, 0]


def test_a_topic_that_has_fewer_partitions_now_is_not_sent_to_one_that_is_gone() -> None:
    choice = StickyChoice(10_000)
    while choice.choose(5, 1) < 2:
        choice = StickyChoice(10_000)
    assert choice.choose(2, 1) < 2
