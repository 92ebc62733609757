"""`delivery=exactly-once`: every row in the topic once, whoever dies when (SPEC D1, D3, P3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.our_side import OurSide, numbered

from strandline.client.blocking import Blocking
from strandline.client.settings import ClientSettings
from strandline.client.transactions import end_transaction
from strandline.spark.exactly_once import Prepared, abort, commit, prepare
from strandline.spark.failures import WriteFailed
from strandline.spark.sink_decisions import Decision, decide
from strandline.spark.task_identity import TaskIdentity
from strandline.testing import Broker

BATCH = 5
WAIT_S = 60.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def ours(broker: Broker) -> OurSide:
    return OurSide(broker)


class Driver:
    """A query with one batch to write, and what of it was done. Each test has a sink of its own."""

    def __init__(self, broker: Broker, ours: OurSide, name: str) -> None:
        self.topic = broker.create_topic(name, 2)
        self.ours = ours
        settings = {"bootstrap.servers": broker.bootstrap, "transaction.timeout.ms": "60000"}
        self.client = Blocking(ClientSettings.of(settings))

    def task(self, number: int, attempt: int = 0, batch_id: int = BATCH, query_id: str = "query") -> Prepared:
        rows = pa.record_batch({"value": [f"{batch_id} {number} {row}".encode() for row in range(3)]})
        me = TaskIdentity(self.topic, query_id, batch_id, number, attempt)
        return prepare(self.client, me, self.topic, iter([rows]))

    def decide(self, messages: list[Prepared]) -> None:
        tasks = tuple(each.task for each in messages if each.task is not None)
        self.client(lambda cluster: decide(cluster, self.topic, Decision(BATCH, "query", tasks), [self.topic]))

    def commit_one(self, message: Prepared) -> None:
        assert message.task is not None
        identity = message.task.identity(self.topic)
        self.client(lambda cluster: end_transaction(cluster, identity, is_commit=True))

    def commit(self, messages: list[Prepared], batch_id: int = BATCH) -> None:
        commit(self.client, messages, batch_id)

    def committed(self) -> list[str]:
        found = self.ours.read(self.topic, partitions=2, is_committed=True)
        return sorted((each.value or b"").decode() for each in found)


@pytest.fixture
def driver(broker: Broker, ours: OurSide, request: pytest.FixtureRequest) -> Iterator[Driver]:
    driver = Driver(broker, ours, request.node.name.removeprefix("test_"))
    with driver.client:
        yield driver


def rows_of(*tasks: int, batch_id: int = BATCH) -> list[str]:
    return [f"{batch_id} {task} {row}" for task in tasks for row in range(3)]


def test_nothing_is_seen_before_the_driver_commits_and_then_all(driver: Driver) -> None:
    messages = [driver.task(0), driver.task(1)]
    assert driver.committed() == []
    driver.commit(messages)
    assert driver.committed() == rows_of(0, 1)


def test_a_driver_that_dies_before_it_decides_leaves_nothing(driver: Driver) -> None:
    driver.task(0)
    driver.task(1)
    again = [driver.task(0), driver.task(1)]
    driver.commit(again)
    assert driver.committed() == rows_of(0, 1)


def test_a_driver_that_dies_amid_its_commits_has_decided(driver: Driver) -> None:
    """The batch comes again: its tasks write nothing, and what is left is committed."""
    messages = [driver.task(0), driver.task(1)]
    driver.decide(messages)
    driver.commit_one(messages[0])
    again = [driver.task(0), driver.task(1)]
    assert [each.task for each in again] == [None, None]
    driver.commit(again)
    assert driver.committed() == rows_of(0, 1)
    driver.commit([driver.task(0)])
    assert driver.committed() == rows_of(0, 1), "and again"
    driver.commit([driver.task(0, batch_id=BATCH + 1)], BATCH + 1)
    assert driver.committed() == rows_of(0, 1) + rows_of(0, batch_id=BATCH + 1)


def test_what_is_decided_cannot_be_aborted(driver: Driver) -> None:
    """Spark aborts a batch whose commit failed, also if that was only for want of an answer."""
    messages = [driver.task(0)]
    driver.decide(messages)
    abort(driver.client, messages, BATCH)
    driver.commit([driver.task(0)])
    assert driver.committed() == rows_of(0)


def test_what_is_not_decided_is_aborted(driver: Driver) -> None:
    abort(driver.client, [driver.task(0), driver.task(1)], BATCH)
    driver.commit([driver.task(0, batch_id=BATCH + 1)], BATCH + 1)
    assert driver.committed() == rows_of(0, batch_id=BATCH + 1)


def test_of_two_attempts_at_a_task_one_counts_and_the_other_holds_nobody_up(driver: Driver) -> None:
    driver.task(0, attempt=0)
    driver.commit([driver.task(0, attempt=1), driver.task(1)])
    assert driver.committed() == rows_of(0, 1)


def test_an_attempt_under_a_driver_that_died_holds_nobody_up(driver: Driver) -> None:
    """The first attempt had fallen, and the second was at work: under the next driver it is the first that counts."""
    driver.task(0, attempt=1)
    driver.commit([driver.task(0), driver.task(1)])
    assert driver.committed() == rows_of(0, 1)


def test_a_sink_belongs_to_one_query_and_its_checkpoint(driver: Driver) -> None:
    driver.commit([driver.task(0)])
    for number, query in ((BATCH - 1, "query"), (BATCH, "another"), (BATCH + 1, "another")):
        with pytest.raises(WriteFailed, match="the checkpoint was deleted, or another query uses this sinkId"):
            driver.task(0, batch_id=number, query_id=query)


def test_a_stream_whose_last_batch_runs_again_writes_nothing_twice(
    spark: Any, broker: Broker, ours: OurSide, tmp_path: Path
) -> None:
    source, sink = broker.create_topic("again.in", 2), broker.create_topic("again.out", 3)
    ours.write(source, numbered(range(100)) + numbered(range(100, 200), partition=1))
    checkpoint = tmp_path / "checkpoint"

    def run() -> None:
        given = {"kafka.bootstrap.servers": broker.bootstrap}
        rows = spark.readStream.format("strandline").options(**given, subscribe=source, maxOffsetsPerTrigger="120")
        rows = rows.option("startingOffsets", "earliest").load().select("key", "value")
        writer = rows.writeStream.format("strandline").options(**given, topic=sink, delivery="exactly-once")
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        assert query.awaitTermination(WAIT_S), "it did not end"

    def written() -> list[bytes]:
        return sorted(each.value or b"" for each in ours.read(sink, partitions=3, is_committed=True))

    run()
    expected = sorted(b"value %d" % number for number in range(200))
    assert written() == expected
    (checkpoint / "commits" / "1").unlink()
    run()
    assert written() == expected
    rows = spark.createDataFrame([("all of it",)], "value string")
    writer = rows.write.format("strandline").mode("append").option("kafka.bootstrap.servers", broker.bootstrap)
    writer.options(topic=sink, delivery="exactly-once").save()
    assert written() == sorted([*expected, b"all of it"])
