"""`readStream` and `writeStream` in `format("strandline")`: what a query reads, commits and refuses (SPEC D1)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.our_side import OurSide, numbered

from strandline.spark.progress_listener import commit_progress
from strandline.testing import Broker

WAIT_S = 60.0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def ours(broker: Broker) -> OurSide:
    return OurSide(broker)


class Pipe:
    """From one topic to another, with a checkpoint of its own."""

    def __init__(self, spark: Any, broker: Broker, source: str, sink: str, checkpoint: Path) -> None:
        self.spark = spark
        self.bootstrap = broker.bootstrap
        self.source = source
        self.sink = sink
        self.checkpoint = str(checkpoint)

    def start(self, *, is_available_now: bool = True, queryName: str = "", **options: Any) -> Any:  # noqa: N803
        given = {"kafka.bootstrap.servers": self.bootstrap, "subscribe": self.source, "startingOffsets": "earliest"}
        rows = self.spark.readStream.format("strandline").options(**given | options).load()
        rows = rows.selectExpr("key", "concat(cast(partition as string), ' ', cast(value as string)) AS value")
        writer = rows.writeStream.format("strandline").option("kafka.bootstrap.servers", self.bootstrap)
        writer = writer.option("topic", self.sink).option("checkpointLocation", self.checkpoint)
        if queryName:
            writer = writer.queryName(queryName)
        return (writer.trigger(availableNow=True) if is_available_now else writer).start()

    def run(self, **options: Any) -> list[dict[str, Any]]:
        """To the end of what is there now; gives the progress of each batch that read something."""
        query = self.start(**options)
        assert query.awaitTermination(WAIT_S), "it did not end"
        return [progress for progress in map(as_dict, query.recentProgress) if progress["numInputRows"]]

    def failure(self, **options: Any) -> str:
        with pytest.raises(Exception) as raised:  # noqa: PT011 Spark has several kinds
            self.run(**options)
        return str(raised.value).partition("JVM stacktrace")[0]


def as_dict(progress: Any) -> dict[str, Any]:
    found: dict[str, Any] = progress if isinstance(progress, dict) else json.loads(progress.json)
    return found


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def pipe(spark: Any, broker: Broker, tmp_path: Path, request: pytest.FixtureRequest) -> Pipe:
    name = request.node.name.removeprefix("test_")[:80]
    return Pipe(
        spark,
        broker,
        broker.create_topic(f"{name}.in", 2),
        broker.create_topic(f"{name}.out", 1),
        tmp_path / "checkpoint",
    )


def values(ours: OurSide, pipe: Pipe) -> list[str]:
    return sorted((each.value or b"").decode() for each in ours.read(pipe.sink))


def as_written(numbers: range, partition: int) -> list[str]:
    return [f"{partition} value {number}" for number in numbers]


def test_a_query_reads_in_portions_resumes_and_takes_in_new_partitions(ours: OurSide, pipe: Pipe) -> None:
    ours.write(pipe.source, numbered(range(10)) + numbered(range(10, 14), partition=1))
    batches = pipe.run(maxOffsetsPerTrigger="7", **{"kafka.group.id": "portions"})
    assert [batch["numInputRows"] for batch in batches] == [7, 7]
    [source] = batches[0]["sources"]
    assert json.loads(source["endOffset"]) == {pipe.source: {"0": 5, "1": 2}}
    assert json.loads(source["latestOffset"]) == {pipe.source: {"0": 10, "1": 4}}, "how far behind it is"
    first = as_written(range(10), 0) + as_written(range(10, 14), 1)
    assert values(ours, pipe) == sorted(first)
    assert ours.committed("portions") == {0: 10, 1: 4}, "the last batch is committed, too"

    ours.grow(pipe.source, 3)
    ours.write(pipe.source, numbered(range(20, 22), partition=2) + numbered(range(30, 31)))
    [batch] = pipe.run(**{"kafka.group.id": "portions"})
    assert batch["numInputRows"] == 3
    assert values(ours, pipe) == sorted(first + as_written(range(20, 22), 2) + as_written(range(30, 31), 0))
    assert ours.committed("portions") == {0: 11, 1: 4, 2: 2}


def test_a_query_that_runs_on_shows_its_lag_in_a_group_and_outlives_a_restart_of_the_broker(
    broker: Broker, ours: OurSide, pipe: Pipe
) -> None:
    query = pipe.start(is_available_now=False, **{"kafka.group.id": "running", "startingOffsets": "latest"})
    try:
        wait_until(lambda: ours.committed("running") == {0: 0, 1: 0})
        ours.write(pipe.source, numbered(range(3)))
        wait_until(lambda: len(values(ours, pipe)) == 3)
        wait_until(lambda: ours.committed("running") == {0: 3, 1: 0})
        broker.restart()
        ours.write(pipe.source, numbered(range(10, 12), partition=1))
        wait_until(lambda: ours.committed("running") == {0: 3, 1: 2})
        assert values(ours, pipe) == as_written(range(3), 0) + as_written(range(10, 12), 1)
    finally:
        query.stop()


def test_every_query_can_be_given_a_group_by_its_name(ours: OurSide, pipe: Pipe) -> None:
    listener = commit_progress(pipe.spark, pipe.bootstrap)
    try:
        ours.write(pipe.source, numbered(range(4), partition=1))
        pipe.run(queryName="nightly")
        wait_until(lambda: ours.committed("spark-nightly") == {0: 0, 1: 4})
    finally:
        pipe.spark.streams.removeListener(listener)
        listener.close()


def test_a_topic_that_is_not_what_it_was_is_a_loss(broker: Broker, ours: OurSide, pipe: Pipe) -> None:
    ours.write(pipe.source, numbered(range(10)))
    pipe.run()
    ours.delete_topic(pipe.source)
    gone = pipe.failure()
    assert f"{pipe.source}-0, {pipe.source}-1 are gone: topic {pipe.source} was deleted" in gone
    assert 'set the option failOnDataLoss to "false"' in gone

    broker.create_topic(pipe.source, 2)
    ours.write(pipe.source, numbered(range(50, 52)))
    anew = pipe.failure()
    assert f"{pipe.source}-0 ends at offset 2 now, and offset 10 was reached before: the topic was deleted" in anew
    pipe.run(failOnDataLoss="false")
    ours.write(pipe.source, numbered(range(60, 61)))
    pipe.run()
    assert values(ours, pipe) == sorted(as_written(range(10), 0) + as_written(range(60, 61), 0))


def test_a_checkpoint_of_another_query_is_refused(broker: Broker, ours: OurSide, pipe: Pipe) -> None:
    ours.write(pipe.source, numbered(range(2)))
    pipe.run()
    other = broker.create_topic("another.in", 1)
    told = pipe.failure(subscribe=other)
    assert f"the checkpoint is of topics that this query does not read ({pipe.source}; it reads {other})" in told


def test_a_missing_topic_is_told_of_when_the_query_starts(pipe: Pipe) -> None:
    assert "topic nope does not exist: create it with `strandline topic create nope`" in pipe.failure(subscribe="nope")


def test_a_first_batch_that_was_cut_short_loses_nothing(ours: OurSide, pipe: Pipe) -> None:
    """Spark does not keep where a query began: after a crash in the first batch, `latest` would be somewhere else."""
    ours.write(pipe.source, numbered(range(5)))
    pipe.run(startingOffsets="latest")
    Path(pipe.checkpoint, "commits", "0").unlink()
    ours.write(pipe.source, numbered(range(5, 8)))
    pipe.run(startingOffsets="latest")
    assert values(ours, pipe) == as_written(range(5, 8), 0)


def test_an_option_that_cannot_be_used_is_told_of_and_not_a_failure_of_pyspark(pipe: Pipe) -> None:
    assert "ending offset not valid in streaming queries" in pipe.failure(endingOffsets="latest")
    pipe.run()
    assert "maxOffsetsPerTrigger must be positive" in pipe.failure(maxOffsetsPerTrigger="0")
