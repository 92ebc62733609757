"""Where reading begins and where it ends, as a user may say it, not yet looked up in the cluster.

earliest, latest                        of every partition
{"topic":{"0":23,"1":-1,"2":-2}}        offsets; -1 is latest, -2 earliest
1700000000000                           a time in milliseconds (startingTimestamp, endingTimestamp)
{"topic":{"0":1700000000000}}           a time for each partition (…OffsetsByTimestamp)
@-1h, @2026-11-15T04:12:42Z             ours: a time wherever an offset or a time may stand; the @ may be left out
                                        of anything that is no number
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from strandline.client.moments import BadMoment, parse_moment
from strandline.client.offsets import EARLIEST, LATEST
from strandline.model.partitions import TopicPartition
from strandline.model.settings import parse_integer
from strandline.spark.failures import BadOption
from strandline.spark.offsets_json import EXAMPLE_OFFSETS, PartitionOffsets, parse_offsets, parse_timestamps

WORDS = {"earliest": EARLIEST, "latest": LATEST}


@dataclass(frozen=True, slots=True)
class AllAt:
    """Every partition at EARLIEST or LATEST."""

    offset: int


@dataclass(frozen=True, slots=True)
class EachAt:
    offsets: PartitionOffsets


@dataclass(frozen=True, slots=True)
class AllAtTime:
    timestamp_ms: int
    or_latest: bool  # where no record is that young; otherwise that is an error


@dataclass(frozen=True, slots=True)
class EachAtTime:
    timestamps_ms: PartitionOffsets
    or_latest: bool


OffsetLimit = AllAt | EachAt | AllAtTime | EachAtTime


@dataclass(frozen=True, slots=True)
class LimitNames:
    """The three options that can name one limit; the first that is there wins, as in Spark."""

    timestamp: str
    by_timestamp: str
    offsets: str


STARTING = LimitNames("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
ENDING = LimitNames("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")


def parse_limit(
    options: Mapping[str, str], names: LimitNames, default: OffsetLimit, *, or_latest: bool, now_ms: int
) -> OffsetLimit:
    if (text := options.get(names.timestamp.lower())) is not None:
        return AllAtTime(_parse_timestamp(text.strip(), now_ms), or_latest)
    if (text := options.get(names.by_timestamp.lower())) is not None:
        return EachAtTime(parse_timestamps(text.strip()), or_latest)
    if (text := options.get(names.offsets.lower())) is not None:
        return _parse_offsets(text.strip(), now_ms)
    return default


def _parse_timestamp(text: str, now_ms: int) -> int:
    """A bare number is milliseconds, however many digits it has."""
    try:
        return _check_time(text, parse_integer(text))
    except ValueError:
        pass
    try:
        return _check_time(text, parse_moment(text, now_ms))
    except BadMoment:
        raise BadOption(
            f"Expected a single long value, got {text}; @-1h and 2026-11-15T04:12:42Z would do, too"
        ) from None


def _parse_offsets(text: str, now_ms: int) -> OffsetLimit:
    if text.lower() in WORDS:
        return AllAt(WORDS[text.lower()])
    if text.startswith("{"):
        return EachAt(parse_offsets(text))
    try:
        return AllAtTime(_check_time(text, parse_moment(text, now_ms)), or_latest=True)
    except BadMoment:
        raise BadOption(
            f"Expected e.g. {EXAMPLE_OFFSETS}, got {text}; earliest, latest, @-1h or 2026-11-15T04:12:42Z would do, too"
        ) from None


def _check_time(text: str, timestamp_ms: int) -> int:
    """Below zero, Kafka's protocol has names for other places than times."""
    if timestamp_ms < 0:
        raise BadOption(f"{text} is before 1970, when no record is: use earliest to read from the beginning")
    return timestamp_ms


def moves(limit: OffsetLimit) -> bool:
    """Whether it may stand for other offsets when it is looked up again."""
    if isinstance(limit, EachAt):
        return LATEST in limit.offsets.values()
    return limit != AllAt(EARLIEST)


def check_batch_start(limit: OffsetLimit) -> None:
    if limit == AllAt(LATEST):
        raise BadOption("starting offset can't be latest for batch queries on Kafka")
    if isinstance(limit, EachAt):
        for partition, offset in limit.offsets.items():
            if offset == LATEST:
                raise BadOption(f"startingOffsets for {partition} can't be latest for batch queries on Kafka")


def check_batch_end(limit: OffsetLimit) -> None:
    if limit == AllAt(EARLIEST):
        raise BadOption("ending offset can't be earliest for batch queries on Kafka")
    if isinstance(limit, EachAt):
        for partition, offset in limit.offsets.items():
            if offset == EARLIEST:
                raise BadOption(f"ending offset for {partition} can't be earliest for batch queries on Kafka")


def check_order(start: OffsetLimit, end: OffsetLimit) -> None:
    """Of two limits of the same kind that name partitions: the same ones, and in order."""
    if isinstance(start, EachAt) and isinstance(end, EachAt):
        _check_order(start.offsets, end.offsets, "offset")
    if isinstance(start, EachAtTime) and isinstance(end, EachAtTime):
        _check_order(start.timestamps_ms, end.timestamps_ms, "timestamp")


def _check_order(start: PartitionOffsets, end: PartitionOffsets, what: str) -> None:
    if start.keys() != end.keys():
        raise BadOption(
            "The specified start offset and end offset should have the same topic-partitions. Those for the start:"
            f" {_names(start)}, for the end: {_names(end)}"
        )
    for partition, first in start.items():
        if first > end[partition] >= 0:
            raise BadOption(
                f"The specified start {what} {first} is greater than the end {what} {end[partition]}"
                f" for topic {partition.topic} partition {partition.partition}"
            )


def _names(offsets: Mapping[TopicPartition, int]) -> str:
    return ", ".join(map(str, sorted(offsets))) or "no partition"
