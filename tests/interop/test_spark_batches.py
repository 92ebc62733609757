"""Batch queries over the whole table of options: `format("kafka")` and ours give equal rows, or refuse alike (SPEC D1).

Where both refuse, the words in the table are in both sentences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.interop.spark_queries import FORMATS, KAFKA, OURS, offsets_of, read_batch
from tests.interop.spark_topics import (
    CUT,
    CUT_AT,
    EMPTY,
    FIRST_MS,
    ORDERS,
    OTHER,
    RECORDS,
    STEP_MS,
    TRANSACTIONS,
    make_topics,
    time_of,
)

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


def each(topic: str, *values: int) -> str:
    return json.dumps({topic: {str(partition): value for partition, value in enumerate(values)}})


READ = {"subscribe": ORDERS}
LATE_MS = time_of(RECORDS + 100)  # later than all records
READS: dict[str, dict[str, str]] = {
    "subscribe": READ,
    "subscribe, two": {"subscribe": f"{ORDERS}, {OTHER}"},
    "subscribe, the same twice": {"subscribe": f"{ORDERS},{ORDERS}"},
    "subscribe, empty topic": {"subscribe": EMPTY},
    "subscribePattern": {"subscribePattern": "ord.*"},
    "subscribePattern, whole name": {"subscribePattern": "orders"},
    "subscribePattern, alternatives": {"subscribePattern": "empty|orders\\.o[a-z]+"},
    "subscribePattern, none": {"subscribePattern": "nothing.*"},
    "assign": {"assign": json.dumps({ORDERS: [0, 1]})},
    "assign, one partition": {"assign": json.dumps({ORDERS: [1], OTHER: [0]})},
    "startingOffsets earliest": READ | {"startingOffsets": "earliest"},
    "startingOffsets EARLIEST": READ | {"startingOffsets": "EARLIEST"},
    "startingOffsets JSON": READ | {"startingOffsets": each(ORDERS, 10, 299)},
    "startingOffsets -2": READ | {"startingOffsets": each(ORDERS, -2, 290)},
    "startingOffsets at the end": READ | {"startingOffsets": each(ORDERS, RECORDS, RECORDS)},
    "endingOffsets latest": READ | {"endingOffsets": "latest"},
    "endingOffsets JSON": READ | {"endingOffsets": each(ORDERS, 5, 7)},
    "endingOffsets -1": READ | {"endingOffsets": each(ORDERS, -1, 3)},
    "endingOffsets 0": READ | {"endingOffsets": each(ORDERS, 0, 0)},
    "both JSON": READ | {"startingOffsets": each(ORDERS, 10, -2), "endingOffsets": each(ORDERS, 20, -1)},
    "assigned, both JSON": {
        "assign": json.dumps({ORDERS: [0, 1]}),
        "startingOffsets": each(ORDERS, 7, 8),
        "endingOffsets": each(ORDERS, 9, 8),
    },
    "startingTimestamp": READ | {"startingTimestamp": str(time_of(100))},
    "startingTimestamp between": READ | {"startingTimestamp": str(time_of(100) + 1)},
    "startingTimestamp before all": READ | {"startingTimestamp": str(FIRST_MS - STEP_MS)},
    "startingTimestamp, no match, latest": READ
    | {"startingTimestamp": str(LATE_MS), "startingOffsetsByTimestampStrategy": "latest"},
    "endingTimestamp": READ | {"endingTimestamp": str(time_of(5))},
    "endingTimestamp, no match": READ | {"endingTimestamp": str(LATE_MS)},
    "both timestamps": READ | {"startingTimestamp": str(time_of(100)), "endingTimestamp": str(time_of(110))},
    "startingOffsetsByTimestamp": READ | {"startingOffsetsByTimestamp": each(ORDERS, time_of(250) - 1, time_of(299))},
    "startingOffsetsByTimestamp, no match, latest": READ
    | {
        "startingOffsetsByTimestamp": each(ORDERS, time_of(290), LATE_MS),
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "endingOffsetsByTimestamp": READ | {"endingOffsetsByTimestamp": each(ORDERS, time_of(3), LATE_MS)},
    "both by timestamp": READ
    | {
        "startingOffsetsByTimestamp": each(ORDERS, time_of(250), FIRST_MS),
        "endingOffsetsByTimestamp": each(ORDERS, time_of(260), time_of(5)),
    },
    "timestamp beats by timestamp": READ
    | {"startingTimestamp": str(time_of(295)), "startingOffsetsByTimestamp": each(ORDERS, FIRST_MS, FIRST_MS)},
    "by timestamp beats offsets": READ
    | {"startingOffsetsByTimestamp": each(ORDERS, time_of(295), time_of(298)), "startingOffsets": each(ORDERS, 0, 0)},
    "timestamp beats latest": READ | {"startingTimestamp": str(time_of(295)), "startingOffsets": "latest"},
    "includeHeaders": READ | {"includeHeaders": "true"},
    "includeHeaders false": READ | {"includeHeaders": "false"},
    "minPartitions fewer": READ | {"minPartitions": "1"},
    "minPartitions more": READ | {"minPartitions": "5"},
    "minPartitions, unequal": {"subscribe": f"{ORDERS},{OTHER}", "minPartitions": "8"},
    "maxRecordsPerPartition": READ | {"maxRecordsPerPartition": "70"},
    "maxRecordsPerPartition and minPartitions": READ | {"maxRecordsPerPartition": "200", "minPartitions": "7"},
    "failOnDataLoss, nothing lost": {"subscribe": CUT, "startingOffsets": "earliest"},
    "failOnDataLoss false, cut": {
        "subscribe": CUT,
        "startingOffsets": each(CUT, 10, CUT_AT + 5),
        "failOnDataLoss": "false",
    },
    "failOnDataLoss false, all of it cut": {
        "subscribe": CUT,
        "startingOffsets": each(CUT, 10, 10),
        "endingOffsets": each(CUT, 20, CUT_AT + 1),
        "failOnDataLoss": "false",
    },
    "read_uncommitted": {"subscribe": TRANSACTIONS},
    "read_committed": {"subscribe": TRANSACTIONS, "kafka.isolation.level": "read_committed"},
    "read_committed, by offsets": {
        "subscribe": TRANSACTIONS,
        "kafka.isolation.level": "read_committed",
        "startingOffsets": each(TRANSACTIONS, 5, 12),
        "endingOffsets": each(TRANSACTIONS, 25, 21),
    },
    "kafka.group.id": READ | {"kafka.group.id": "mine"},
    "groupIdPrefix": READ | {"groupIdPrefix": "mine"},
    "names in any case": {"SUBSCRIBE": ORDERS, "StartingOffsets": each(ORDERS, 298, 298)},
    "settings of the client": READ
    | {"kafka.max.partition.fetch.bytes": "1000", "kafka.fetch.max.bytes": "5000", "kafka.client.id": "reader"},
    "patience": READ
    | {"kafkaConsumer.pollTimeoutMs": "5000", "fetchOffset.numRetries": "1", "fetchOffset.retryIntervalMs": "5"},
    "rate limits of streams": READ | {"maxOffsetsPerTrigger": "5", "minOffsetsPerTrigger": "1"},
}


@pytest.mark.parametrize("name", READS)
def test_equal_rows(spark: Any, broker: Broker, name: str) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap} | READS[name]
    theirs, ours = (read_batch(spark, source, options) for source in (KAFKA, OURS))
    assert (theirs.error, ours.error) == ("", "")
    assert offsets_of(ours) == offsets_of(theirs)
    if name in CUT_ONLY_BY_US:
        theirs = replace(theirs, tasks=ours.tasks)
    assert ours == theirs


# Spark's source heeds it in streams, but in batches only together with minPartitions.
CUT_ONLY_BY_US = {"maxRecordsPerPartition"}


def test_a_partition_that_is_not_there_is_nothing_to_spark_and_an_error_to_us(spark: Any, broker: Broker) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap, "assign": json.dumps({ORDERS: [7]})}
    assert read_batch(spark, KAFKA, options).rows == []
    assert "topic orders has no partition 7: it has 0 to 1" in read_batch(spark, OURS, options).error


AT_A_TIME = "No offset matched from request of topic-partition"
MUST_ALL = "don't match what are assigned"
REFUSED: dict[str, tuple[dict[str, str], str]] = {
    "no brokers": ({"kafka.bootstrap.servers": "", **READ}, ""),
    "no topics": ({}, "One of the following options must be specified for Kafka source"),
    "two ways": (READ | {"assign": json.dumps({ORDERS: [0]})}, "Only one of the following options can be specified"),
    "subscribe nothing": ({"subscribe": " , "}, "No topics to subscribe to as specified value for option 'subscribe'"),
    "pattern of nothing": ({"subscribePattern": " "}, "Pattern to subscribe is empty"),
    "assign no JSON": ({"assign": "orders"}, "No topicpartitions to assign as specified value for option 'assign'"),
    "assign other JSON": ({"assign": '{"orders": 3}'}, "Expected e.g."),
    "no such topic": ({"subscribe": "nothing"}, ""),
    "startingOffsets latest": (READ | {"startingOffsets": "latest"}, "can't be latest for batch queries on Kafka"),
    "startingOffsets -1": (READ | {"startingOffsets": each(ORDERS, -1, 0)}, "can't be latest for batch queries"),
    "endingOffsets earliest": (READ | {"endingOffsets": "earliest"}, "can't be earliest for batch queries on Kafka"),
    "endingOffsets -2": (READ | {"endingOffsets": each(ORDERS, -2, 5)}, "can't be earliest for batch queries"),
    "startingOffsets of some": (READ | {"startingOffsets": '{"orders":{"0":1}}'}, MUST_ALL),
    "startingOffsets of others": (READ | {"startingOffsets": each(OTHER, 1, 1)}, MUST_ALL),
    "startingOffsets of too many": (READ | {"startingOffsets": each(ORDERS, 1, 1, 1)}, MUST_ALL),
    "endingOffsets of some": (READ | {"endingOffsets": '{"orders":{"0":1}}'}, MUST_ALL),
    "timestamps of some": (READ | {"startingOffsetsByTimestamp": '{"orders":{"0":1}}'}, MUST_ALL),
    "startingOffsets no JSON": (READ | {"startingOffsets": "{"}, "Expected e.g."),
    "startingOffsets a word": (READ | {"startingOffsets": "soon"}, "Expected e.g."),
    "startingOffsets above the end": (
        READ | {"startingOffsets": each(ORDERS, RECORDS + 5, 0), "kafkaConsumer.pollTimeoutMs": "3000"},
        f"resolved start offset {RECORDS + 5} is greater than the resolved end offset {RECORDS}",
    ),
    "start after end": (
        READ | {"startingOffsets": each(ORDERS, 20, 20), "endingOffsets": each(ORDERS, 10, 30)},
        "The specified start offset 20 is greater than the end offset 10 for topic orders partition 0",
    ),
    "start and end of other partitions": (
        READ | {"startingOffsets": each(ORDERS, 20, 20), "endingOffsets": '{"orders":{"0":30}}'},
        "The specified start offset and end offset should have the same topic-partitions",
    ),
    "timestamps the wrong way": (
        READ
        | {
            "startingOffsetsByTimestamp": each(ORDERS, time_of(20), time_of(20)),
            "endingOffsetsByTimestamp": each(ORDERS, time_of(10), time_of(30)),
        },
        f"The specified start timestamp {time_of(20)} is greater than the end timestamp {time_of(10)}",
    ),
    "endingOffsets above the end": (
        READ | {"endingOffsets": each(ORDERS, RECORDS + 5, RECORDS), "kafkaConsumer.pollTimeoutMs": "3000"},
        "",
    ),
    "startingTimestamp a word": (READ | {"startingTimestamp": "soon"}, "Expected a single long value"),
    "startingTimestamp, no match": (READ | {"startingTimestamp": str(LATE_MS)}, AT_A_TIME),
    "by timestamp, no match": (READ | {"startingOffsetsByTimestamp": each(ORDERS, FIRST_MS, LATE_MS)}, AT_A_TIME),
    "by timestamp, no match, error": (
        READ
        | {
            "startingOffsetsByTimestamp": each(ORDERS, FIRST_MS, LATE_MS),
            "startingOffsetsByTimestampStrategy": "error",
        },
        AT_A_TIME,
    ),
    "another strategy": (READ | {"startingOffsetsByTimestampStrategy": "sometimes"}, "sometimes"),
    "minPartitions 0": (READ | {"minPartitions": "0"}, "minPartitions must be positive"),
    "minPartitions a word": (READ | {"minPartitions": "many"}, ""),
    "maxRecordsPerPartition 0": (READ | {"maxRecordsPerPartition": "0"}, "maxRecordsPerPartition must be positive"),
    "failOnDataLoss": ({"subscribe": CUT, "startingOffsets": each(CUT, 10, 10)}, "failOnDataLoss"),
    "kafka.auto.offset.reset": (
        READ | {"kafka.auto.offset.reset": "latest"},
        "Kafka option 'auto.offset.reset' is not supported",
    ),
    "kafka.key.deserializer": (
        READ | {"kafka.key.deserializer": "x"},
        "Kafka option 'key.deserializer' is not supported as keys",
    ),
    "kafka.value.deserializer": (
        READ | {"kafka.value.deserializer": "x"},
        "Kafka option 'value.deserializer' is not supported as values",
    ),
    "kafka.enable.auto.commit": (
        READ | {"kafka.enable.auto.commit": "true"},
        "Kafka option 'enable.auto.commit' is not supported",
    ),
    "kafka.interceptor.classes": (
        READ | {"kafka.interceptor.classes": "x"},
        "Kafka option 'interceptor.classes' is not supported",
    ),
    "kafka.isolation.level": (READ | {"kafka.isolation.level": "read_everything"}, "isolation.level"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_equal_refusals(spark: Any, broker: Broker, name: str) -> None:
    options, words = REFUSED[name]
    options = {"kafka.bootstrap.servers": broker.bootstrap} | options
    if not options["kafka.bootstrap.servers"]:
        del options["kafka.bootstrap.servers"]
    for source in FORMATS:
        told = read_batch(spark, source, options)
        assert told.rows is None, f"{source} reads {offsets_of(told)}"
        assert words.lower() in told.error.lower(), source


def test_a_schema_of_ones_own_is_refused(spark: Any, broker: Broker) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap} | READ
    for source in FORMATS:
        told = read_batch(spark, source, options, schema="value string")
        assert "schema" in told.error, source
