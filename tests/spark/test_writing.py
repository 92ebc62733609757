"""`df.write.format("strandline")`: columns into records, and what cannot become one (SPEC D1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.spark.our_side import OurSide

from strandline.client.partitioner import partition_of_key
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
    assert "topic option required when no 'topic' attribute is present" in failure(rows, broker)
    assert "Required attribute 'value' not found" in failure(rows.drop("value"), broker, topic=topic)
    number = failure(rows.selectExpr("1 AS value"), broker, topic=topic)
    assert "value attribute unsupported type int. value must be a(n) string or binary" in number
    assert "Save mode Overwrite not allowed for Kafka" in failure(rows, broker, mode="overwrite", topic=topic)
    serializer = {"kafka.key.serializer": "x"}
    assert "Kafka option 'key.serializer' is not supported" in failure(rows, broker, topic=topic, **serializer)
    assert "option topics is not known to the sink; did you mean topic?" in failure(rows, broker, topics=topic)
    assert "topic refusals has no partition 7: it has 0 to 0" in failure(rows, broker, topic=topic)
    assert "topic nope does not exist" in failure(rows, broker, topic="nope")
