"""Pipelines on the real Spark, from real brokers to each kind of sink (SPEC D3)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark.our_side import Found, OurSide, Sent

from strandline.model.partitions import TopicPartition
from strandline.pipeline.dead_letter_headers import origin_of
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.replay import redirected, replay
from strandline.pipeline.running import Run
from strandline.pipeline.spec import Pipeline
from strandline.pipeline.validation import check_text
from strandline.testing import Broker

SCHEMA = "id BIGINT NOT NULL, amount DOUBLE, at TIMESTAMP"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def ours(broker: Broker) -> OurSide:
    return OurSide(broker)


def pipeline_of(broker: Broker, directory: Path, text: str, name: str) -> Pipeline:
    head = f"name: {name}\nbrokers: {broker.bootstrap}\ntrigger: once\n"
    pipeline, problems = check_text(head + text, str(directory))
    assert pipeline is not None, problems
    return pipeline


def run(spark: Any, pipeline: Pipeline) -> Run:
    started = Run(pipeline, spark)
    started.wait()
    return started


def orders(*rows: dict[str, Any] | bytes | None) -> list[Sent]:
    return [
        Sent(0, json.dumps(row).encode() if isinstance(row, dict) else row, b"key %d" % at, (("trace", b"t"),))
        for at, row in enumerate(rows)
    ]


BAD_ORDERS = orders(
    {"id": 1, "amount": 5.5, "at": "2026-11-15T10:00:00Z"},
    b"{nonsense",
    {"id": "seven", "amount": 1},
    {"amount": 1},
    None,
    b"\xff\xfe",
    {"id": 2, "amount": -1},
    {"id": 3, "amount": 0.5},
)


def messages(dead: list[Found]) -> dict[int, str | None]:
    """By the offset at which the record was."""
    origins = [origin_of(each.headers) for each in dead]
    return {origin.offset: origin.message for origin in origins if origin.offset is not None}


def test_bad_records_go_to_the_dead_letter_topic_with_the_reason(
    spark: Any, broker: Broker, ours: OurSide, tmp_path: Path
) -> None:
    source, sink, dead = (broker.create_topic(f"bad.{name}", 1) for name in ("in", "out", "dead"))
    ours.write(source, BAD_ORDERS)
    pipeline = pipeline_of(
        broker,
        tmp_path,
        f"""
source: {{topics: [{source}], start: earliest}}
parse: {{format: json, schema: "{SCHEMA}"}}
expect:
  - {{name: positive, rule: amount > 0, otherwise: dead-letter}}
  - {{name: large, rule: amount > 1}}
transform: {{sql: "SELECT id, amount * 2 AS twice, _offset, _key FROM records"}}
sink:
  - topic: {{topic: {sink}, key: _key}}
  - parquet: {{path: table}}
dead_letter: {dead}
""",
        "bad",
    )
    done = run(spark, pipeline)
    assert [(each.key, each.value) for each in ours.read(sink, is_committed=True)] == [
        (b"key 0", b'{"id":1,"twice":11.0}'),
        (b"key 7", b'{"id":3,"twice":1.0}'),
    ]
    letters = ours.read(dead, is_committed=True)
    assert messages(letters) == {
        1: "the value is not JSON: {nonsense",
        2: "field id is no bigint: seven",
        3: "field id is missing, and it is NOT NULL",
        4: "the record has no value (it is a tombstone)",
        5: "the value is not UTF-8",
        6: "positive: it is not true that amount > 0",
    }
    [first] = [each for each in letters if origin_of(each.headers).offset == 1]
    assert (first.key, first.value, first.headers[0]) == (b"key 1", b"{nonsense", ("trace", b"t")), "as it came"
    origin = origin_of(first.headers)
    assert (origin.topic, origin.partition, origin.pipeline, origin.stage) == (source, 0, "bad", "VALUE_CONVERTER")
    assert (done.steps.tally.dead_letters, dict(done.steps.tally.warnings)) == (6, {"large": 1})
    rows = spark.read.parquet(str(tmp_path / "table"))
    assert sorted((row.id, row.twice) for row in rows.collect()) == [(1, 11.0), (3, 1.0)]
    assert ours.committed("spark-bad") == {0: 8}, "every tool that shows lag shows this pipeline's"

    again = forget_last_commit(pipeline)
    run(spark, pipeline)
    assert again == 0
    assert rows.count() == spark.read.parquet(str(tmp_path / "table")).count() == 2, "the batch was known"
    assert len(ours.read(sink, is_committed=True)) == 2

    replayed = redirected(pipeline, {"parquet": str(tmp_path / "other")})
    partition = TopicPartition(source, 0)
    tally = replay(replayed, spark, str(tmp_path / "replay"), {partition: 6}, {partition: 8})
    assert (tally.records, tally.dead_letters) == (2, 1)
    replay(replayed, spark, str(tmp_path / "replay"), {partition: 0}, {partition: 8})
    assert [row.id for row in spark.read.parquet(str(tmp_path / "other")).collect()] == [3], "once, and the same range"
    assert ours.read(dead, is_committed=True) == letters, "once, in the same step as the rows"


def forget_last_commit(pipeline: Pipeline) -> int:
    """As if the driver had died after writing the last batch: Spark will run it again."""
    commits = Path(pipeline.checkpoint, "query", "commits")
    last = max(int(name) for name in os.listdir(commits) if name.isdigit())
    (commits / str(last)).unlink()
    (commits / f".{last}.crc").unlink(missing_ok=True)
    return last


def test_a_record_that_nobody_may_live_with_ends_the_pipeline_before_anything_is_written(
    spark: Any, broker: Broker, ours: OurSide, tmp_path: Path
) -> None:
    source = broker.create_topic("fatal.in", 1)
    ours.write(source, orders({"id": 1}, {"id": "x"}))
    text = f"""
source: {{topics: [{source}], start: earliest}}
parse: {{format: json, schema: "{SCHEMA}"}}
sink: {{parquet: {{path: table}}}}
"""
    with pytest.raises(PipelineFailed, match=r"1 of the records are bad, the first at fatal.in-0 offset 1: field id"):
        run(spark, pipeline_of(broker, tmp_path, text, "fatal"))
    assert not (tmp_path / "table").exists()


def test_delta_iceberg_and_a_database_know_a_batch_that_comes_again(
    spark: Any, broker: Broker, ours: OurSide, tmp_path: Path
) -> None:
    from deltalake import DeltaTable
    from pyiceberg.catalog import load_catalog

    source = broker.create_topic("tables.in", 1)
    catalog = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    url = f"jdbc:derby:{tmp_path}/base;create=true"
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", f"{tmp_path}/derby.log")
    pipeline = pipeline_of(
        broker,
        tmp_path,
        f"""
source: {{topics: [{source}], start: earliest}}
parse: {{format: json, schema: "id BIGINT NOT NULL, name STRING, gone BOOLEAN"}}
sink:
  - delta: {{path: delta, mode: upsert, key: [id], delete_when: gone}}
  - iceberg: {{table: shop.names, catalog: {json.dumps(catalog)}}}
  - jdbc: {{url: "{url}", table: names, mode: upsert, key: [name]}}
""",
        "tables",
    )

    def delta() -> list[tuple[int, str]]:
        rows = DeltaTable(pipeline.sinks[0].path).to_pyarrow_table().to_pylist()  # type: ignore[union-attr]
        return sorted((row["id"], row["name"]) for row in rows)

    def database() -> list[tuple[str, int]]:
        rows = spark.read.format("jdbc").options(url=url, dbtable="names").load().collect()
        return sorted((row.name, row.id) for row in rows)

    ours.write(source, orders({"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 1, "name": "c"}))
    run(spark, pipeline)
    assert delta() == [(1, "c"), (2, "b")]
    assert database() == [("a", 1), ("b", 2), ("c", 1)]

    ours.write(source, orders({"id": 2, "name": "b", "gone": True}, {"id": 3, "name": "a"}))
    for _ in range(2):
        run(spark, pipeline)
        assert delta() == [(1, "c"), (3, "a")]
        assert database() == [("a", 3), ("b", 2), ("c", 1)]
        table = load_catalog("strandline", **catalog).load_table("shop.names")
        assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 1, 2, 2, 3]
        forget_last_commit(pipeline)


def test_a_pipeline_that_runs_on_ends_between_two_batches(
    spark: Any, broker: Broker, ours: OurSide, tmp_path: Path
) -> None:
    source = broker.create_topic("endless.in", 1)
    ours.write(source, orders({"id": 1}))
    text = f"source: {{topics: [{source}], start: earliest}}\nsink: {{parquet: {{path: table}}}}\n"
    endless = Run(pipeline_of(broker, tmp_path, text, "endless"), spark, trigger="100 milliseconds")
    endless.wait(lambda *_: endless.stop())
    assert not endless.query.isActive
    assert endless.checkpoint.last_done() is not None


def test_what_spark_finds_wrong_is_one_sentence(spark: Any, broker: Broker, tmp_path: Path) -> None:
    source = broker.create_topic("wrong.in", 1)
    text = f"source: {{topics: [{source}]}}\nsink: {{console: {{}}}}\ntransform: {{sql: SELECT nope FROM records}}\n"
    with pytest.raises(PipelineFailed) as raised:
        Run(pipeline_of(broker, tmp_path, text, "wrong"), spark)
    assert "`nope` cannot be resolved" in str(raised.value)
    assert "\n" not in str(raised.value)
    missing = text.replace(source, "nowhere").replace("SELECT nope", "SELECT value")
    with pytest.raises(PipelineFailed, match="topic nowhere does not exist: create it with `strandline topic create"):
        run(spark, pipeline_of(broker, tmp_path, missing, "missing"))
