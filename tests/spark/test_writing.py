"""`df.write.format("strandline")`: columns into records, and what cannot become one (SPEC D1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType
from tests.spark.our_side import OurSide

from strandline.client.partitioner import partition_of_key
from strandline.spark.data_source import StrandlineDataSource
from strandline.spark.failures import HIDE_TRACEBACK, SparkFailure
from strandline.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def ours(broker: Broker) -> OurSide:
    return OurSide(broker)


def write(frame: Any, broker: Broker, mode: str = "append", **options: str) -> None:
    given = {"kafka.bootstrap.servers": broker.bootstrap, **options}
    frame.write.format("strandline").mode(mode).options(**given).save()


def failure(frame: Any, broker: Broker, mode: str = "append", **options: str) -> str:
    with pytest.raises(Exception) as raised:  # noqa: PT011 Spark has several kinds
        write(frame, broker, mode, **options)
    text = str(raised.value)
    assert "Traceback" not in text
    return text


def test_columns_become_records(spark: Any, broker: Broker, ours: OurSide) -> None:
    topic = broker.create_topic("columns", 3)
    frame = spark.sql(
        """
        SELECT * FROM VALUES
            ('k1', 'text', NULL, NULL),
            ('k2', 'there', 2, array(struct('h' AS key, X'FF' AS value), struct('n' AS key, NULL AS value))),
            (NULL, 'anywhere', NULL, array()),
            ('k3', NULL, 0, NULL)
        AS rows(key, value, partition, headers)
        """
    )
    write(frame, broker, topic=topic)
    found = {each.value: each for each in ours.read(topic, partitions=3)}
    assert found.keys() == {b"text", b"there", b"anywhere", None}
    assert found[b"text"].partition == partition_of_key(b"k1", 3), "where Java's client puts it"
    assert found[b"there"].partition == 2
    assert found[b"there"].headers == (("h", b"\xff"), ("n", None))
    assert (found[None].key, found[None].partition) == (b"k3", 0)
    assert (found[b"anywhere"].key, found[b"anywhere"].headers) == (None, ())


def test_the_topic_is_a_column_unless_the_option_names_one(spark: Any, broker: Broker, ours: OurSide) -> None:
    first, second = (broker.create_topic(name, 1) for name in ("first", "second"))
    frame = spark.createDataFrame([("first", b"1"), ("second", b"2")], "topic string, value binary")
    write(frame, broker)
    assert [each.value for each in ours.read(first)] == [b"1"]
    assert [each.value for each in ours.read(second)] == [b"2"]
    write(frame, broker, topic=second)
    assert sorted(each.value or b"" for each in ours.read(second)) == [b"1", b"2", b"2"]


def test_what_cannot_be_written_is_told_in_a_sentence(spark: Any, broker: Broker) -> None:
    topic = broker.create_topic("refusals", 1)
    rows = spark.createDataFrame([(b"1", 7)], "value binary, partition int")
    assert "topic refusals has no partition 7: it has 0 to 0" in failure(rows, broker, topic=topic)
    assert "Save mode Overwrite not allowed for Kafka" in failure(rows, broker, mode="overwrite", topic=topic)


VALUE, PARTITION = StructField("value", BinaryType()), StructField("partition", IntegerType())


@pytest.mark.parametrize(
    ("fields", "options", "sentence"),
    [
        ([VALUE], {}, "topic option required when no 'topic' attribute is present"),
        ([PARTITION], {"topic": "t"}, "Required attribute 'value' not found"),
        ([StructField("value", IntegerType())], {"topic": "t"},
         "value attribute unsupported type int. value must be a(n) string or binary"),
        ([VALUE, StructField("headers", StringType())], {"topic": "t"},
         "headers must be a(n) array<struct<key:string,value:binary>>"),
        ([VALUE], {"topic": "../t"}, "is not a topic name"),
        ([VALUE], {"topics": "t"}, "option topics is not known to the sink; did you mean topic?"),
        ([VALUE], {"path": "t"}, "has no path: name topics with the option topic"),
        ([VALUE], {"topic": "t", "kafka.key.serializer": "x"}, "Kafka option 'key.serializer' is not supported"),
        ([VALUE], {"topic": "t", "kafka.acks": "some"}, "option kafka.acks='some': choose from"),
    ],
)  # fmt: skip
def test_what_cannot_become_records_is_refused_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, fields: list[Any], options: dict[str, str], sentence: str
) -> None:
    monkeypatch.setenv(HIDE_TRACEBACK, "")
    source = StrandlineDataSource({"kafka.bootstrap.servers": "localhost:9092", **options})
    for make in (source.writer, source.streamWriter):
        with pytest.raises(SparkFailure) as raised:
            make(StructType(fields), False)
        assert sentence in str(raised.value)
