"""Offsets of partitions as Spark writes them: {"topic":{"0":23,"1":-1}}. In a checkpoint, and in what users give.

Spark compares the text of two offsets to see whether there is anything new, so that the order must never change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from strandline.client.offsets import EARLIEST
from strandline.model.partitions import TopicPartition
from strandline.spark.failures import BadOption

PartitionOffsets = dict[TopicPartition, int]
OffsetsOfTopics = dict[str, dict[str, int]]

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
SHOWN_MAX = 500
EXAMPLE_OFFSETS = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
EXAMPLE_TIMESTAMPS = '{"topicA": {"0": 123456789, "1": 123456789}, "topicB": {"0": 123456789, "1": 123456789}}'
EXAMPLE_PARTITIONS = '{"topicA":[0,1],"topicB":[0,1]}'


def to_topics(offsets: Mapping[TopicPartition, int]) -> OffsetsOfTopics:
    topics: OffsetsOfTopics = {}
    for partition in sorted(offsets):
        topics.setdefault(partition.topic, {})[str(partition.partition)] = offsets[partition]
    return topics


def from_topics(topics: Mapping[str, Mapping[str, int]]) -> PartitionOffsets:
    """Of what came through `to_topics`."""
    return {
        TopicPartition(topic, int(index)): offset
        for topic, offsets in topics.items()
        for index, offset in offsets.items()
    }


def parse_offsets(text: str) -> PartitionOffsets:
    return _numbers(text, EXAMPLE_OFFSETS, EARLIEST)


def parse_timestamps(text: str) -> PartitionOffsets:
    return _numbers(text, EXAMPLE_TIMESTAMPS, 0)


def _numbers(text: str, example: str, at_least: int) -> PartitionOffsets:
    found = {}
    for topic, values in _object(text, example).items():
        if not isinstance(values, dict):
            raise _unexpected(text, example)
        for index, value in values.items():
            if not _is_partition(index) or not _is_whole(value, at_least, INT64_MAX):
                raise _unexpected(text, example)
            found[TopicPartition(topic, int(index))] = value
    return found


def parse_partitions(text: str) -> list[TopicPartition]:
    found = []
    for topic, indexes in _object(text, EXAMPLE_PARTITIONS).items():
        if not isinstance(indexes, list) or not all(_is_whole(index, 0, INT32_MAX) for index in indexes):
            raise _unexpected(text, EXAMPLE_PARTITIONS)
        found += [TopicPartition(topic, index) for index in indexes]
    return list(dict.fromkeys(found))


def _object(text: str, example: str) -> dict[str, Any]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise _unexpected(text, example) from None
    if not isinstance(parsed, dict):
        raise _unexpected(text, example)
    return parsed


def _is_partition(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text[:20]) <= INT32_MAX


def _is_whole(value: object, at_least: int, at_most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and at_least <= value <= at_most


def _unexpected(text: str, example: str) -> BadOption:
    shown = text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
    return BadOption(f"Expected e.g. {example}, got {shown}")
