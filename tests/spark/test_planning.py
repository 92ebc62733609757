"""Who reads what, how much of it at a time, and in which words Spark keeps it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strandline.model.partitions import TopicPartition
from strandline.spark.failures import ReadFailed
from strandline.spark.micro_batches import check_checkpoint
from strandline.spark.offsets_json import from_topics, parse_offsets, to_topics
from strandline.spark.range_planning import OffsetRange, plan_ranges
from strandline.spark.rate_limits import EnoughOffsets, limit_offsets

A, B, C = (TopicPartition("orders", index) for index in range(3))
SIZES = st.lists(st.integers(0, 5000), min_size=1, max_size=8)


def ranges_of(*sizes: int) -> list[OffsetRange]:
    return [OffsetRange(TopicPartition("orders", index), 100, 100 + size) for index, size in enumerate(sizes)]


def sizes_of(planned: list[OffsetRange]) -> list[int]:
    return [each.size for each in planned]


# Tasks


def test_a_task_for_each_partition_that_has_something() -> None:
    planned = plan_ranges(ranges_of(5, 0, 7), min_partitions=None, max_records_per_partition=None)
    assert [(each.partition.partition, each.size) for each in planned] == [(0, 5), (2, 7)]


def test_large_partitions_are_cut_until_there_are_enough_tasks() -> None:
    """As Spark does it: the small one keeps its task and is left out of the sum."""
    planned = plan_ranges(ranges_of(1, 100), min_partitions=5, max_records_per_partition=None)
    assert sizes_of(planned) == [1, 25, 25, 25, 25]


def test_no_task_has_more_than_its_share() -> None:
    planned = plan_ranges(ranges_of(10, 3), min_partitions=None, max_records_per_partition=4)
    assert sizes_of(planned) == [3, 3, 4, 3]
    both = plan_ranges(ranges_of(10, 10), min_partitions=8, max_records_per_partition=5)
    assert len(both) == 8
    assert max(sizes_of(both)) <= 5


@given(SIZES, st.none() | st.integers(1, 30), st.none() | st.integers(1, 700))
def test_every_offset_goes_to_one_task(sizes: list[int], least: int | None, most: int | None) -> None:
    ranges = ranges_of(*sizes)
    planned = plan_ranges(ranges, min_partitions=least, max_records_per_partition=most)
    offsets = sorted((each.partition, offset) for each in planned for offset in range(*each[1:]))
    assert offsets == [(each.partition, offset) for each in ranges for offset in range(*each[1:])]
    assert all(size > 0 for size in sizes_of(planned))
    assert most is None or all(size <= most for size in sizes_of(planned))


# Limits


def test_a_limit_is_shared_out_by_what_there_is_and_starves_nobody() -> None:
    limited = limit_offsets(10, {A: 0, B: 50, C: 7}, {A: 1, B: 1049, C: 7})
    assert limited == {A: 1, B: 59, C: 7}


def test_under_the_limit_everything_is_read() -> None:
    assert limit_offsets(10, {A: 0, B: 5}, {A: 4, B: 9}) == {A: 4, B: 9}


@given(SIZES, st.integers(1, 3000))
def test_a_limit_always_lets_something_through_and_ends_at_the_end(sizes: list[int], limit: int) -> None:
    until = {TopicPartition("orders", index): size for index, size in enumerate(sizes)}
    done = dict.fromkeys(until, 0)
    for _ in range(sum(sizes) + 1):
        if done == until:
            break
        further = limit_offsets(limit, done, until)
        read = {each: further[each] - done[each] for each in until}
        assert 0 < sum(read.values()) <= limit + len(until)
        assert all(0 <= count <= until[each] - done[each] for each, count in read.items())
        done = further
    assert done == until


def test_a_batch_waits_until_there_is_enough_but_not_for_ever() -> None:
    enough = EnoughOffsets(10, delay_max_ms=1000)
    assert enough.is_enough({A: 0}, {A: 1}, elapsed_ms=7), "the first does not wait"
    assert not enough.is_enough({A: 1}, {A: 10}, elapsed_ms=8)
    assert enough.is_enough({A: 1}, {A: 11}, elapsed_ms=9)
    assert not enough.is_enough({A: 11}, {A: 12}, elapsed_ms=1008)
    assert enough.is_enough({A: 11}, {A: 12}, elapsed_ms=1009)


# Offsets as text


def test_the_text_of_offsets_is_the_same_however_they_came_about() -> None:
    many = {TopicPartition(topic, index): index for topic in "ba" for index in (10, 9, 2)}
    text = json.dumps(to_topics(many))
    assert text == '{"a": {"2": 2, "9": 9, "10": 10}, "b": {"2": 2, "9": 9, "10": 10}}'
    assert json.dumps(to_topics(dict(reversed(many.items())))) == text
    assert from_topics(json.loads(text)) == many == parse_offsets(text)


@pytest.mark.parametrize("offset", [{"0": 10}, {"orders": {"zero": 1}}, {"orders": [1]}, {"value": "7"}])
def test_a_checkpoint_of_another_source_is_known_as_such(offset: dict[str, object]) -> None:
    with pytest.raises(ReadFailed, match="another source wrote: give this query a checkpointLocation of its own"):
        check_checkpoint(offset)
