"""Spark's own `format("kafka")` against our broker: what it reads is what we hold, what it writes is what we find."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.fetching import Fetcher
from strandline.client.offsets import EARLIEST, LATEST, list_offsets
from strandline.client.producer import Producer
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition
from strandline.records.record import Headers
from strandline.testing import Broker

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings(
        "ignore:unclosed <socket:ResourceWarning"
    ),  # of PySpark, which leaves them to the collector
]

PARTITIONS = (0, 1)
FIRST_MS, STEP_MS = 1_700_000_000_000, 1_000
ROW = ("partition", "offset", "unix_millis(timestamp) AS timestamp", "key", "value", "headers")


class Row(NamedTuple):
    """A record as both sides can tell it."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    # The records are of a time long past, and should stay.
    with Broker(process=True, num_partitions=len(PARTITIONS), log_retention_ms=-1) as broker:
        yield broker


# Our side.


class OurClient:
    def __init__(self, bootstrap: str) -> None:
        self._blocking = Blocking(ClientSettings(bootstrap_servers=(bootstrap,)))

    def write(self, topic: str, numbers: range) -> None:
        """In each partition a record for each number: every shape a record can have, a second apart."""

        async def work(cluster: Cluster) -> None:
            async with Producer(cluster) as producer:
                for number in numbers:
                    for partition in PARTITIONS:
                        await producer.send(
                            topic,
                            None if number % 10 == 9 else f"value {number}".encode(),
                            key=None if number % 5 == 0 else f"key {number % 3}".encode(),
                            headers=headers_of(number),
                            timestamp_ms=FIRST_MS + number * STEP_MS,
                            partition=partition,
                        )
                await producer.flush()
                assert producer.failure is None

        self._blocking(work)

    def read(self, topic: str) -> list[Row]:
        async def work(cluster: Cluster) -> list[Row]:
            partitions = [TopicPartition(topic, partition) for partition in PARTITIONS]
            starts = await list_offsets(cluster, dict.fromkeys(partitions, EARLIEST))
            ends = await list_offsets(cluster, dict.fromkeys(partitions, LATEST))
            rows = []
            with Fetcher(cluster, offsets_of(starts), offsets_of(ends)) as fetcher:
                while fetcher.positions:
                    for fetched in await fetcher.poll():
                        rows += [
                            Row(
                                each.partition.partition,
                                each.offset,
                                each.timestamp,
                                each.key,
                                each.value,
                                each.headers,
                            )
                            for each in fetched.read()
                        ]
            return sorted(rows, key=lambda row: row[:2])

        return self._blocking(work)

    def close(self) -> None:
        self._blocking.__exit__()


def offsets_of(found: dict[TopicPartition, Any]) -> dict[TopicPartition, int]:
    return {partition: each.offset for partition, each in found.items()}


def headers_of(number: int) -> Headers:
    return ((), (("one", b"1"),), (("same", b"a"), ("same", None), ("größe", b"\xff\x00")))[number % 3]


@pytest.fixture(scope="module")
def ours(broker: Broker) -> Iterator[OurClient]:
    client = OurClient(broker.bootstrap)
    yield client
    client.close()


# Spark's side.


def source(reader: Any, broker: Broker, **options: str) -> Any:
    """A `DataFrameReader` or `DataStreamReader` of topics."""
    reader = reader.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap).option("includeHeaders", "true")
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load()


def rows_of(frame: Any) -> list[Row]:
    """Of a frame with the columns of `format("kafka")`."""
    found = [
        Row(
            each.partition,
            each.offset,
            each.timestamp,
            None if each.key is None else bytes(each.key),
            None if each.value is None else bytes(each.value),
            tuple((header.key, None if header.value is None else bytes(header.value)) for header in each.headers or ()),
        )
        for each in frame.selectExpr(*ROW).collect()
    ]
    return sorted(found, key=lambda row: row[:2])


def by_partition(topic: str, *offsets: int) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in enumerate(offsets)}})


@pytest.fixture(scope="module")
def orders(broker: Broker, ours: OurClient) -> str:
    topic = broker.create_topic("orders")
    ours.write(topic, range(300))
    return topic


def test_a_batch_reads_all_that_we_hold(spark: Any, broker: Broker, ours: OurClient, orders: str) -> None:
    held = ours.read(orders)
    assert len(held) == 300 * len(PARTITIONS)
    committed = {"subscribe": orders, "kafka.isolation.level": "read_committed", "minPartitions": "4"}
    for how in (committed, {"subscribePattern": "ord.*"}, {"assign": json.dumps({orders: PARTITIONS})}):
        assert rows_of(source(spark.read, broker, **how)) == held


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startingOffsets": by_partition("orders", 10, -2), "endingOffsets": by_partition("orders", 20, -1)},
         {0: range(10, 20), 1: range(300)}),
        ({"startingOffsets": by_partition("orders", 299, 300)}, {0: range(299, 300), 1: range(0)}),
        ({"startingTimestamp": str(FIRST_MS + 100 * STEP_MS), "endingTimestamp": str(FIRST_MS + 110 * STEP_MS)},
         {0: range(100, 110), 1: range(100, 110)}),
        ({"startingOffsetsByTimestamp": by_partition("orders", FIRST_MS + 250 * STEP_MS - 1, FIRST_MS),
          "endingOffsetsByTimestamp": by_partition("orders", FIRST_MS + 260 * STEP_MS, FIRST_MS + 5 * STEP_MS)},
         {0: range(250, 260), 1: range(5)}),
    ],
    ids=["offsets", "the end", "time", "time of each partition"],
)  # fmt: skip
def test_a_batch_reads_from_where_to_where_it_is_told(
    spark: Any, broker: Broker, ours: OurClient, orders: str, options: dict[str, str], expected: dict[int, range]
) -> None:
    wanted = [row for row in ours.read(orders) if row.offset in expected[row.partition]]
    assert rows_of(source(spark.read, broker, subscribe=orders, **options)) == wanted


def run_to_the_end(writer: Any, checkpoint: Path) -> Any:
    """A query over what there is now, from where the checkpoint says; its progress."""
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    return query.recentProgress


def test_a_stream_goes_on_from_its_checkpoint(spark: Any, broker: Broker, ours: OurClient, tmp_path: Path) -> None:
    topic = broker.create_topic("stream")
    for numbers in (range(100), range(100, 150), range(0)):
        ours.write(topic, numbers)
        frame = source(
            spark.readStream, broker, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="120"
        )
        files = frame.writeStream.format("parquet").option("path", str(tmp_path / "sink"))
        progress = run_to_the_end(files, tmp_path / "checkpoint")
        assert sum(each.numInputRows for each in progress) == len(numbers) * len(PARTITIONS)
        assert rows_of(spark.read.parquet(str(tmp_path / "sink"))) == ours.read(topic)


# What Spark writes.

WRITTEN = 500
HEADER = "named_struct('key', 'number', 'value', CAST(CAST(id AS STRING) AS BINARY))"
MADE = (
    "IF(id % 2 = 0, 'even', 'odd') AS topic",
    "CAST(id % 4 < 2 AS INT) AS partition",
    "IF(id % 5 = 0, NULL, CAST(concat('key ', id) AS BINARY)) AS key",
    "IF(id % 7 = 0, NULL, CAST(concat('value ', id) AS BINARY)) AS value",
    f"array({HEADER}, named_struct('key', 'null', 'value', CAST(NULL AS BINARY))) AS headers",
)


def made(number: int) -> tuple[int, bytes | None, bytes | None, Headers]:
    """Partition, key, value and headers: what `MADE` says."""
    return (
        int(number % 4 < 2),
        None if number % 5 == 0 else f"key {number}".encode(),
        None if number % 7 == 0 else f"value {number}".encode(),
        (("number", str(number).encode()), ("null", None)),
    )


def sink(writer: Any, broker: Broker) -> Any:
    """Of a `DataFrameWriter` or `DataStreamWriter`. Rows name their topic."""
    return writer.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)


def test_a_batch_writes_to_the_topics_that_its_rows_name(spark: Any, broker: Broker, ours: OurClient) -> None:
    for topic in ("even", "odd"):
        broker.create_topic(topic)
    sink(spark.range(WRITTEN).selectExpr(*MADE).write, broker).save()
    for remainder, topic in enumerate(("even", "odd")):
        found = [(row.partition, row.key, row.value, row.headers) for row in ours.read(topic)]
        # Tasks write side by side: the order is theirs.
        assert sorted(found, key=number_in) == [made(number) for number in range(remainder, WRITTEN, 2)]


def number_in(content: tuple[int, bytes | None, bytes | None, Headers]) -> int:
    return int(content[3][0][1] or b"")


def test_a_stream_writes_what_another_topic_holds(spark: Any, broker: Broker, ours: OurClient, tmp_path: Path) -> None:
    """In order and once each, by a query that is started again; times are the producer's own."""
    original, copy = broker.create_topic("original"), broker.create_topic("copy")
    for numbers in (range(120), range(120, 200)):
        ours.write(original, numbers)
        frame = source(spark.readStream, broker, subscribe=original, startingOffsets="earliest")
        copied = frame.selectExpr(f"'{copy}' AS topic", "partition", "key", "value", "headers")
        run_to_the_end(sink(copied.writeStream, broker), tmp_path / "checkpoint")
        assert [row._replace(timestamp=0) for row in ours.read(copy)] == [
            row._replace(timestamp=0) for row in ours.read(original)
        ]
