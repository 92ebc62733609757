"""Writes, by all columns and options: `format("kafka")` and ours put the same into topics or refuse alike (SPEC D1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.interop.spark_queries import FORMATS, KAFKA, OURS, write_batch
from tests.spark.our_side import Found, OurSide

from strandline.testing import Broker

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # of PySpark, which leaves them lying about
]

PARTITIONS = 3
ROWS = 60


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(process=True, auto_create_topics_enable=False) as broker:
        yield broker


@pytest.fixture(scope="module")
def ours(broker: Broker) -> OurSide:
    return OurSide(broker)


KEY = "CAST(id % 7 AS STRING) AS key"
VALUE = "CONCAT('value ', id) AS value"
HEADERS = "array(named_struct('key', 'n', 'value', CAST(CAST(id AS STRING) AS BINARY))) AS headers"
NULL_HEADER = "array(named_struct('key', 'n', 'value', CAST(NULL AS BINARY))) AS headers"
NO_HEADERS = "CAST(NULL AS array<struct<key:string,value:binary>>) AS headers"
# Columns, and options; `{topic}` is each side's own. Keys decide on partitions, where there is one.
WRITES: dict[str, tuple[list[str], dict[str, str]]] = {
    "option topic": ([KEY, VALUE], {"topic": "{topic}"}),
    "column topic": ([KEY, VALUE, "'{topic}' AS topic"], {}),
    "option beats column": ([KEY, VALUE, "'nowhere' AS topic"], {"topic": "{topic}"}),
    "binary": (["CAST(id AS STRING)::binary AS key", "CAST(id AS STRING)::binary AS value"], {"topic": "{topic}"}),
    "null values": ([KEY, "IF(id % 3 = 0, NULL, 'x') AS value"], {"topic": "{topic}"}),
    "partition": ([KEY, VALUE, "CAST(id % 3 AS INT) AS partition"], {"topic": "{topic}"}),
    "partition, some": ([KEY, VALUE, "IF(id % 2 = 0, 2, NULL) AS partition"], {"topic": "{topic}"}),
    "partition without key": ([VALUE, "CAST(id % 3 AS INT) AS partition"], {"topic": "{topic}"}),
    "headers": ([KEY, VALUE, HEADERS], {"topic": "{topic}", "includeHeaders": "true"}),
    "headers without saying so": ([KEY, VALUE, HEADERS], {"topic": "{topic}"}),
    "header without value": ([KEY, VALUE, NULL_HEADER], {"topic": "{topic}"}),
    "null headers": ([KEY, VALUE, NO_HEADERS], {"topic": "{topic}"}),
    "other columns": ([KEY, VALUE, "id AS offset", "1 AS other"], {"topic": "{topic}"}),
    "compressed": ([KEY, VALUE], {"topic": "{topic}", "kafka.compression.type": "lz4"}),
    "one acknowledgement": (
        [KEY, VALUE],
        {"topic": "{topic}", "kafka.acks": "1", "kafka.enable.idempotence": "false"},
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_equal_records(spark: Any, broker: Broker, ours: OurSide, name: str) -> None:
    columns, options = WRITES[name]
    found = []
    for sink in FORMATS:
        topic = broker.create_topic(f"{sink}.{''.join(filter(str.isalnum, name))}", PARTITIONS)
        frame = spark.range(ROWS).selectExpr(*(each.replace("{topic}", topic) for each in columns))
        given = {option: value.replace("{topic}", topic) for option, value in options.items()}
        assert write_batch(frame, sink, {"kafka.bootstrap.servers": broker.bootstrap} | given) == ""
        found.append(sorted(content_of(each) for each in ours.read(topic, PARTITIONS)))
    assert len(found[0]) == ROWS
    assert found[0] == found[1]


def content_of(record: Found) -> tuple[Any, ...]:
    """Tasks write side by side, so that offsets and times are theirs."""
    return record.partition, record.key or b"", record.value or b"", record.value is None, str(record.headers)


TOPIC = {"topic": "refusals"}
REFUSED: dict[str, tuple[list[str], dict[str, str], str]] = {
    "no topic": ([KEY, VALUE], {}, "topic option required when no 'topic' attribute is present"),
    "no value": ([KEY], TOPIC, "Required attribute 'value' not found"),
    "a value that is a number": (["id AS value"], TOPIC, "value attribute unsupported type bigint"),
    "a key that is a number": ([VALUE, "id AS key"], TOPIC, "key attribute unsupported type bigint"),
    "a topic that is a number": ([VALUE, "id AS topic"], {}, "topic attribute unsupported type bigint"),
    "a partition that is text": ([VALUE, "'1' AS partition"], TOPIC, "partition attribute unsupported type string"),
    "headers that are text": ([VALUE, "'1' AS headers"], TOPIC, "headers attribute unsupported type string"),
    "null topic": ([VALUE, "IF(id = 5, NULL, 'refusals') AS topic"], {}, "contains a null topic"),
    "no such topic": ([VALUE], {"topic": "nowhere", "kafka.max.block.ms": "2000"}, ""),
    "no such partition": ([VALUE, "7 AS partition"], TOPIC | {"kafka.max.block.ms": "2000"}, ""),
    "a partition below 0": ([VALUE, "-1 AS partition"], TOPIC, ""),
    "kafka.key.serializer": ([VALUE], TOPIC | {"kafka.key.serializer": "x"}, "Kafka option 'key.serializer'"),
    "kafka.value.serializer": ([VALUE], TOPIC | {"kafka.value.serializer": "x"}, "Kafka option 'value.serializer'"),
}


@pytest.fixture(scope="module")
def refusals(broker: Broker) -> str:
    return broker.create_topic("refusals", PARTITIONS)


@pytest.mark.parametrize("name", REFUSED)
def test_equal_refusals(spark: Any, broker: Broker, refusals: str, name: str) -> None:
    columns, options, words = REFUSED[name]
    frame = spark.range(10).selectExpr(*columns)
    for sink in FORMATS:
        given = {"kafka.bootstrap.servers": broker.bootstrap} | options
        if sink == OURS:
            given.pop("kafka.max.block.ms", None)
        said = write_batch(frame, sink, given)
        assert said, f"{sink} writes it to {refusals}"
        assert words.lower() in said.lower(), sink


def test_equal_refusals_of_modes_and_of_no_brokers(spark: Any, broker: Broker, refusals: str) -> None:
    frame = spark.range(1).selectExpr(VALUE)
    for sink in (KAFKA, OURS):
        given = {"kafka.bootstrap.servers": broker.bootstrap, "topic": refusals}
        assert write_batch(frame, sink, given, mode="overwrite"), sink
        assert "bootstrap.servers" in write_batch(frame, sink, {"topic": refusals}), sink
