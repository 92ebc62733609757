"""Streams, by the same options: `format("kafka")` and ours give equal rows, in batches that end alike (SPEC D1)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.interop.spark_queries import FORMATS, KAFKA, OURS, Told, offsets_of, run_stream
from tests.interop.spark_topics import CUT, ORDERS, OTHER, RECORDS, TRANSACTIONS, make_topics, records_of, time_of
from tests.spark.our_side import OurSide

from strandline.testing import Broker

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # of PySpark, which leaves them lying about
]


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True, log_retention_ms=-1) as broker:
        make_topics(broker)
        yield broker


@pytest.fixture(scope="module")
def ours(broker: Broker) -> OurSide:
    return OurSide(broker)


def each(topic: str, *values: int) -> str:
    return json.dumps({topic: {str(partition): value for partition, value in enumerate(values)}})


READ = {"subscribe": ORDERS, "startingOffsets": "earliest"}
LATE_MS = time_of(RECORDS + 100)
STREAMS: dict[str, dict[str, str]] = {
    "earliest": READ,
    "two topics": {"subscribe": f"{ORDERS},{OTHER}", "startingOffsets": "earliest"},
    "pattern": {"subscribePattern": "orders.*", "startingOffsets": "earliest"},
    "assign": {"assign": json.dumps({ORDERS: [1]}), "startingOffsets": "earliest"},
    "JSON": {"subscribe": ORDERS, "startingOffsets": each(ORDERS, 290, -2)},
    "JSON with latest": {"subscribe": ORDERS, "startingOffsets": each(ORDERS, -1, 295)},
    "maxOffsetsPerTrigger": READ | {"maxOffsetsPerTrigger": "120"},
    "maxOffsetsPerTrigger, shared out": {
        "subscribe": f"{ORDERS},{OTHER}",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "101",
    },
    "maxOffsetsPerTrigger, fewer than partitions": {
        "assign": json.dumps({OTHER: [0, 1]}),
        "startingOffsets": each(OTHER, 17, 18),
        "maxOffsetsPerTrigger": "1",
    },
    "maxOffsetsPerTrigger and minPartitions": READ | {"maxOffsetsPerTrigger": "200", "minPartitions": "5"},
    "maxRecordsPerPartition": READ | {"maxRecordsPerPartition": "50"},
    "minOffsetsPerTrigger": READ | {"minOffsetsPerTrigger": "100000", "maxTriggerDelay": "1h"},
    "startingTimestamp": {"subscribe": ORDERS, "startingTimestamp": str(time_of(290))},
    "startingTimestamp, no match, latest": {
        "subscribe": ORDERS,
        "startingTimestamp": str(LATE_MS),
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "startingOffsetsByTimestamp": {
        "subscribe": ORDERS,
        "startingOffsetsByTimestamp": each(ORDERS, time_of(295), time_of(298) - 1),
    },
    "includeHeaders": READ | {"includeHeaders": "true"},
    "read_committed": {
        "subscribe": TRANSACTIONS,
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
    },
    "failOnDataLoss false": {
        "subscribe": CUT,
        "startingOffsets": each(CUT, 10, 60),
        "failOnDataLoss": "false",
    },
}


@pytest.mark.parametrize("name", STREAMS)
def test_equal_batches(spark: Any, broker: Broker, tmp_path: Path, name: str) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap} | STREAMS[name]
    theirs, ours = (run_stream(spark, source, options, tmp_path / source) for source in (KAFKA, OURS))
    check_equal(ours, theirs)


def check_equal(ours: Told, theirs: Told) -> None:
    assert (theirs.error, ours.error) == ("", "")
    assert offsets_of(ours) == offsets_of(theirs)
    assert (ours.rows, ours.columns) == (theirs.rows, theirs.columns)
    # Ours has one more at the beginning where it begins at a time or at the end (docs/spark.md).
    assert ours.ends[-len(theirs.ends) :] == theirs.ends


REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "endingOffsets": (READ | {"endingOffsets": "latest"}, "ending offset not valid in streaming queries"),
    "endingOffsetsByTimestamp": (
        READ | {"endingOffsetsByTimestamp": each(ORDERS, 1, 1)},
        "ending timestamp not valid in streaming queries",
    ),
    "minOffsetsPerTrigger above max": (
        READ | {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "5"},
        "The value of minOffsetPerTrigger(9) is higher than the maxOffsetsPerTrigger(5)",
    ),
    "startingTimestamp, no match": (
        {"subscribe": ORDERS, "startingTimestamp": str(LATE_MS)},
        "No offset matched from request of topic-partition",
    ),
    "startingOffsets of some": (
        {"subscribe": ORDERS, "startingOffsets": '{"orders":{"0":1}}'},
        "Assigned:",
    ),
    "failOnDataLoss": ({"subscribe": CUT, "startingOffsets": each(CUT, 10, 60)}, "failOnDataLoss"),
    "no topics": ({}, "One of the following options must be specified for Kafka source"),
    "kafka.auto.offset.reset": (
        READ | {"kafka.auto.offset.reset": "latest"},
        "Kafka option 'auto.offset.reset' is not supported",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_equal_refusals(spark: Any, broker: Broker, tmp_path: Path, name: str) -> None:
    options, words = REFUSED[name]
    for source in FORMATS:
        given = {"kafka.bootstrap.servers": broker.bootstrap} | options
        told = run_stream(spark, source, given, tmp_path / source)
        assert told.rows is None, f"{source} reads {offsets_of(told)}"
        assert words.lower() in told.error.lower(), source


PASSED_OVER = {
    "endingTimestamp": ("1", "ending timestamp not valid in streaming queries"),
    "maxOffsetsPerTrigger": ("0", "maxOffsetsPerTrigger must be positive"),  # theirs would never read anything
    "noSuchOption": ("1", "option nosuchoption is not known to the source"),
}


@pytest.mark.parametrize("option", PASSED_OVER)
def test_what_spark_passes_over_is_refused_by_us(spark: Any, broker: Broker, tmp_path: Path, option: str) -> None:
    """An option that is not heeded misleads."""
    value, words = PASSED_OVER[option]
    options = {"kafka.bootstrap.servers": broker.bootstrap, option: value} | READ
    theirs, ours = (run_stream(spark, source, options, tmp_path / source) for source in (KAFKA, OURS))
    assert theirs.rows is not None
    assert words in ours.error


# What happens between two runs of one query.


def grow(ours: OurSide, topic: str) -> None:
    ours.write(topic, records_of(range(100, 150)))


def grow_with_partitions(ours: OurSide, topic: str) -> None:
    ours.grow(topic, 4)
    ours.write(topic, records_of(range(100, 150), partitions=4))


def cut_what_was_read(ours: OurSide, topic: str) -> None:
    ours.delete_before(topic, 50)
    ours.write(topic, records_of(range(100, 110)))


def do_nothing(ours: OurSide, topic: str) -> None:
    """The second run finds nothing new."""


@pytest.mark.parametrize("meanwhile", [grow, grow_with_partitions, cut_what_was_read, do_nothing])
@pytest.mark.parametrize("start", ["earliest", "latest"])
def test_a_query_that_is_started_again_goes_on_alike(
    spark: Any,
    broker: Broker,
    ours: OurSide,
    tmp_path: Path,
    start: str,
    meanwhile: Callable[[OurSide, str], None],
) -> None:
    topic = broker.create_topic(f"{start}.{meanwhile.__name__}", 2)
    ours.write(topic, records_of(range(100)))
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, "startingOffsets": start}
    for _ in range(2):
        theirs, our_own = (run_stream(spark, source, options, tmp_path / source) for source in (KAFKA, OURS))
        check_equal(our_own, theirs)
        meanwhile(ours, topic)


def test_what_is_lost_between_two_runs_ends_both(spark: Any, broker: Broker, ours: OurSide, tmp_path: Path) -> None:
    """Unless they are told to go on with what is there."""
    topic = broker.create_topic("lost", 1)
    ours.write(topic, records_of(range(20), partitions=1))
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    told = [run_stream(spark, source, options, tmp_path / source) for source in FORMATS]
    ours.write(topic, records_of(range(20, 60), partitions=1))
    ours.delete_before(topic, 40)
    for source in FORMATS:
        assert "failOnDataLoss" in run_stream(spark, source, options, tmp_path / source).error, source
    told = [run_stream(spark, source, options | {"failOnDataLoss": "false"}, tmp_path / source) for source in FORMATS]
    check_equal(told[1], told[0])
    assert offsets_of(told[1]) == {(topic, 0): [*range(20), *range(40, 60)]}
