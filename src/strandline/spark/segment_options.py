"""The options of `format("strandline.segments")`, by the names that users write, and what they mean.

    path                     a data directory or a partition's folder; `load(DIR)` sets it, `load([A, B])` several
    rowPer                   record (default) or batch
    topics                   a,b,c: these only
    partitions               0,3,7: these only
    startingOffset           from this offset on, of every partition
    endingOffset             up to this offset, not including it
    startingTimestamp        milliseconds, or ISO 8601; UTC where it has no zone
    endingTimestamp          up to this time, not including it
    isolationLevel           read_uncommitted (default): everything that is in the files, control records too;
                             read_committed: what a consumer is shown that reads committed data
    maxBytesPerPartition     of the files, for one task of Spark
    minPartitions            tasks to make at least, where the files have places to split them at

An option that is not among them is refused, not ignored: a misspelt filter would otherwise read everything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from strandline.model.settings import parse_integer
from strandline.records.columns import OFFSETS_END
from strandline.spark.failures import BadOption

MAX_BYTES_PER_PARTITION = 128 * 2**20  # as Spark cuts files of its own: to begin a task in Python is dear
RECORD, BATCH = "record", "batch"
READ_UNCOMMITTED, READ_COMMITTED = "read_uncommitted", "read_committed"

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows. Files, splits and batches that cannot have any of them are not read."""

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    from_offset: int = 0
    to_offset: int = OFFSETS_END  # exclusive
    from_timestamp_ms: int | None = None
    to_timestamp_ms: int | None = None  # exclusive

    def from_offset_on(self, offset: int) -> Wanted:
        return replace(self, from_offset=max(self.from_offset, offset))

    def up_to_offset(self, offset: int) -> Wanted:
        return replace(self, to_offset=min(self.to_offset, offset))

    def from_timestamp_on(self, timestamp_ms: int) -> Wanted:
        earliest = timestamp_ms if self.from_timestamp_ms is None else max(self.from_timestamp_ms, timestamp_ms)
        return replace(self, from_timestamp_ms=earliest)

    def up_to_timestamp(self, timestamp_ms: int) -> Wanted:
        latest = timestamp_ms if self.to_timestamp_ms is None else min(self.to_timestamp_ms, timestamp_ms)
        return replace(self, to_timestamp_ms=latest)

    def of_topics(self, topics: frozenset[str]) -> Wanted:
        return replace(self, topics=topics if self.topics is None else self.topics & topics)

    def of_partitions(self, partitions: frozenset[int]) -> Wanted:
        return replace(self, partitions=partitions if self.partitions is None else self.partitions & partitions)


@dataclass(frozen=True, slots=True)
class SegmentOptions:
    paths: tuple[str, ...]
    row_per: str = RECORD
    wanted: Wanted = Wanted()
    is_committed_only: bool = False
    max_bytes_per_partition: int = MAX_BYTES_PER_PARTITION
    min_partitions: int = 1


def parse_options(options: Mapping[str, str]) -> SegmentOptions:
    given = {name.lower(): value for name, value in options.items()}
    unknown = sorted(set(given) - {name.lower() for name in NAMES})
    if unknown:
        raise BadOption(f"there is no option {unknown[0]!r}; there are {', '.join(NAMES)}")

    def value_of(name: str, parse: Callable[[str], Value], default: Value) -> Value:
        text = given.get(name.lower())
        if text is None:
            return default
        try:
            return parse(text)
        except ValueError as error:
            raise BadOption(f"option {name} is {text!r}: {error}") from None

    no_paths: list[str] = []
    return SegmentOptions(
        paths=tuple(value_of("path", _alone, no_paths) + value_of("paths", _several, no_paths)),
        row_per=value_of("rowPer", _one_of(RECORD, BATCH), RECORD),
        wanted=Wanted(
            value_of("topics", _names, None),
            value_of("partitions", _numbers, None),
            value_of("startingOffset", _at_least(0), 0),
            value_of("endingOffset", _at_least(0), OFFSETS_END),
            value_of("startingTimestamp", _timestamp, None),
            value_of("endingTimestamp", _timestamp, None),
        ),
        is_committed_only=value_of("isolationLevel", _one_of(READ_UNCOMMITTED, READ_COMMITTED), "") == READ_COMMITTED,
        max_bytes_per_partition=value_of("maxBytesPerPartition", _at_least(1), MAX_BYTES_PER_PARTITION),
        min_partitions=value_of("minPartitions", _at_least(1), os.cpu_count() or 1),
    )


NAMES = (
    *("path", "paths", "rowPer", "topics", "partitions", "startingOffset", "endingOffset", "startingTimestamp"),
    *("endingTimestamp", "isolationLevel", "maxBytesPerPartition", "minPartitions"),
)


def _alone(text: str) -> list[str]:
    return [text]


def _several(text: str) -> list[str]:
    """As Spark hands over what `load` was given in a list."""
    try:
        paths = json.loads(text)
    except (ValueError, RecursionError):
        paths = None
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise ValueError("write a list of paths in JSON")
    return paths


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"write {' or '.join(choices)}")
        return text.lower()

    return parse


def _at_least(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = _whole(text)
        if number is None or number < least:
            raise ValueError(f"write a whole number from {least} on")
        return number

    return parse


def _whole(text: str) -> int | None:
    """None if it is no number of 64 bits."""
    try:
        return parse_integer(text.strip())
    except ValueError:
        return None


def _names(text: str) -> frozenset[str] | None:
    names = frozenset(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("name topics with commas between them, or leave it out to read all")
    return names


def _numbers(text: str) -> frozenset[int] | None:
    numbers = [_whole(number) for number in text.split(",")]
    if any(number is None or number < 0 for number in numbers):
        raise ValueError("write numbers with commas between them")
    return frozenset(number for number in numbers if number is not None)


def _timestamp(text: str) -> int | None:
    number = _whole(text)
    if number is not None:
        return number
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError("write milliseconds or a time like 2024-05-01T12:00:00Z") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - datetime.fromtimestamp(0, UTC)) // MILLISECOND


MILLISECOND = datetime.resolution * 1000
