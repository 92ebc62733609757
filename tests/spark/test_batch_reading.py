"""`spark.read.format("strandline")` on a real Spark, against real brokers (SPEC D1)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.our_side import Found, OurSide, Sent, numbered

from strandline.spark.data_source import StrandlineDataSource
from strandline.spark.failures import HIDE_TRACEBACK, SparkFailure
from strandline.testing import Broker

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
FIRST_MS, STEP_MS = 1_700_000_000_000, 1_000
SHAPES = [
    (b"key", b"value", ()),
    (None, b"no key", ()),
    (b"tombstone", None, ()),
    (b"", b"", (("header", b"1"), ("header", None), ("", b""))),
    (b"\xff\x00", b"x" * 3000, (("h\u00e9", b"\xff"),)),
]
EVERYTHING = ("partition", "offset", "unix_millis(timestamp) AS timestamp", "key", "value", "headers")


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    # The records are of a time long past, and should stay.
    with Broker(log_retention_ms=-1) as broker:
        yield broker


@pytest.fixture(scope="module")
def ours(broker: Broker) -> OurSide:
    return OurSide(broker)


@pytest.fixture(scope="module")
def orders(broker: Broker, ours: OurSide) -> str:
    """Two partitions with ten records each, a second apart, in every shape."""
    broker.create_topic("orders", 2)
    ours.write(
        "orders",
        [
            Sent(index, value, key, headers, FIRST_MS + number * STEP_MS)
            for number in range(10)
            for index in (0, 1)
            for key, value, headers in [SHAPES[number % len(SHAPES)]]
        ],
    )
    return "orders"


def load(spark: Any, broker: Broker, **options: str) -> Any:
    return spark.read.format("strandline").options(**{"kafka.bootstrap.servers": broker.bootstrap, **options}).load()


def found(frame: Any) -> list[Found]:
    return sorted(
        Found(
            row.partition,
            row.offset,
            row.timestamp,
            None if row.key is None else bytes(row.key),
            None if row.value is None else bytes(row.value),
            tuple((each.key, None if each.value is None else bytes(each.value)) for each in row.headers or ()),
        )
        for row in frame.selectExpr(*EVERYTHING).collect()
    )


def offsets(frame: Any) -> list[tuple[int, int]]:
    return sorted((row.partition, row.offset) for row in frame.select("partition", "offset").collect())


def both(first: range) -> list[tuple[int, int]]:
    return [(index, offset) for index in (0, 1) for offset in first]


def failure(frame: Any) -> str:
    with pytest.raises(Exception) as raised:  # noqa: PT011 Spark has several kinds
        frame.collect()
    return sentence_of(raised.value)


def sentence_of(error: Exception) -> str:
    """What a user reads: nothing of any stack."""
    text = str(error)
    assert "Traceback" not in text
    return text


def test_rows_are_the_records_with_the_columns_of_sparks_own_source(
    spark: Any, broker: Broker, ours: OurSide, orders: str
) -> None:
    plain = load(spark, broker, subscribe=orders)
    assert plain.schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int>"
    )
    frame = load(spark, broker, subscribe=orders, includeHeaders="true")
    assert frame.schema["headers"].dataType.simpleString() == "array<struct<key:string,value:binary>>"
    assert found(frame) == ours.read(orders, partitions=2)
    [constants] = frame.select("topic", "timestampType").distinct().collect()
    assert tuple(constants) == (orders, 0)


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ({"startingOffsets": '{"orders":{"0":3,"1":-2}}', "endingOffsets": '{"orders":{"0":-1,"1":2}}'},
         [(0, offset) for offset in range(3, 10)] + [(1, 0), (1, 1)]),
        ({"endingTimestamp": str(FIRST_MS + 2 * STEP_MS)}, both(range(2))),
        ({"startingOffsetsByTimestamp": f'{{"orders":{{"0":{FIRST_MS + 7500},"1":{FIRST_MS + 9000}}}}}'},
         [(0, 8), (0, 9), (1, 9)]),
        ({"startingOffsets": "2023-11-14T22:13:25Z", "endingOffsets": "@2023-11-14T22:13:27Z"}, both(range(5, 7))),
    ],
)  # fmt: skip
def test_a_range_is_said_by_offsets_and_by_times(
    spark: Any, broker: Broker, orders: str, options: dict[str, str], read: list[tuple[int, int]]
) -> None:
    assert offsets(load(spark, broker, subscribe=orders, **options)) == read


def test_several_tasks_share_a_partition(spark: Any, broker: Broker, orders: str) -> None:
    frame = load(spark, broker, assign='{"orders":[1]}', minPartitions="4")
    assert frame.rdd.getNumPartitions() == 4
    assert offsets(frame) == [(1, offset) for offset in range(10)]
    assert load(spark, broker, subscribe=orders, maxRecordsPerPartition="3").rdd.getNumPartitions() == 8


def test_topics_by_a_pattern(spark: Any, broker: Broker, ours: OurSide, orders: str) -> None:
    broker.create_topic("order-lines", 1)
    ours.write("order-lines", numbered(range(3)))
    frame = load(spark, broker, subscribePattern="order.*")
    assert {(row.topic, row["count"]) for row in frame.groupBy("topic").count().collect()} == {
        (orders, 20),
        ("order-lines", 3),
    }
    assert load(spark, broker, subscribePattern="^order$").count() == 0, "what it does not say of the name is left open"


def test_what_cannot_be_read_is_told_in_a_sentence(spark: Any, broker: Broker) -> None:
    missing = failure(load(spark, broker, subscribe="nope"))
    assert "topic nope does not exist: create it with `strandline topic create nope`" in missing
    with pytest.raises(Exception, match="option subscrib is not known to the source; did you mean subscribe"):
        load(spark, broker, subscrib="orders")
    own = spark.read.schema("id int").format("strandline").option("kafka.bootstrap.servers", broker.bootstrap)
    assert "Kafka source has a fixed schema" in failure(own.option("subscribe", "orders").load())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"kafka.bootstrap.servers": "127.0.0.1:1"},
         "no broker at 127.0.0.1:1: start one with `strandline serve`, or correct the option kafka.bootstrap.servers"),
        ({"startingTimestamp": str(FIRST_MS * 2)},
         f"No offset matched from request of topic-partition orders-0 and timestamp {FIRST_MS * 2}"),
        ({"startingOffsets": '{"orders":{"0":1}}'}, "Specified: orders-0 Assigned: orders-0, orders-1"),
        ({"endingOffsets": '{"orders":{"0":99,"1":-1}}'}, "orders-0 ends at offset 10, and endingOffsets asks for 99"),
        ({"subscribe": "", "assign": '{"orders":[7]}'}, "topic orders has no partition 7: it has 0 to 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned_is_told_in_a_sentence(
    broker: Broker, orders: str, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], sentence: str
) -> None:
    """As Spark calls it, on the driver."""
    monkeypatch.setenv(HIDE_TRACEBACK, "")
    given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": orders, **options}
    source = StrandlineDataSource({name: value for name, value in given.items() if value})
    with pytest.raises(SparkFailure) as raised:
        source.reader(source.schema()).partitions()
    assert sentence in str(raised.value)
    assert os.environ[HIDE_TRACEBACK] == "1", "Spark shows no stack with it"


def test_records_that_are_gone_are_a_loss_with_a_reason(spark: Any, broker: Broker, ours: OurSide) -> None:
    topic = broker.create_topic("trimmed", 1, {"retention.ms": 3_600_000_000})
    ours.write(topic, numbered(range(10)))
    ours.delete_before(topic, 4)
    options = {"subscribe": topic, "startingOffsets": '{"trimmed":{"0":1}}'}
    told = failure(load(spark, broker, **options))
    assert "trimmed-0 begins at offset 4 now, and 1 to 3 were not read: retention took them" in told
    assert "retention.ms=3600000000" in told
    assert 'set the option failOnDataLoss to "false"' in told
    assert offsets(load(spark, broker, **options, failOnDataLoss="false")) == [(0, offset) for offset in range(4, 10)]


@pytest.mark.parametrize("version", ["kraft-3.9", "kraft-4.3"])
def test_what_apache_kafka_wrote_comes_without_markers_aborted_and_compacted_records(
    spark: Any, tmp_path: Path, version: str
) -> None:
    """Gaps are no loss: failOnDataLoss is on, and nothing is said (SPEC P3, C6)."""
    data = tmp_path / "data"
    shutil.copytree(GOLDEN / version, data)
    with Broker(data=data) as kafkas:
        ours = OurSide(kafkas)
        for topic in ("payments", "accounts"):
            frame = load(spark, kafkas, subscribe=topic, includeHeaders="true", minPartitions="3")
            assert found(frame) == ours.read(topic)
        committed = load(spark, kafkas, subscribe="payments", **{"kafka.isolation.level": "read_committed"})
        wanted = ours.read("payments", is_committed=True)
        assert offsets(committed) == [(0, each.offset) for each in wanted]
        assert 0 < len(wanted) < len(ours.read("payments"))
