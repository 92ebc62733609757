"""The steps of a pipeline as functions on DataFrames, each format with what cannot be read (SPEC D3)."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import fastavro
import pytest

from strandline.pipeline import (
    dead_letters,
    expect,
    expect_or_drop,
    expect_or_fail,
    good_rows,
    parse_avro,
    parse_csv,
    parse_json,
    parse_text,
    topic,
)
from strandline.pipeline.failures import BadPipeline

AVRO = {
    "type": "record",
    "name": "order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}],
}
ROWS = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType int,"
    " headers array<struct<key:string,value:binary>>"
)


def records(spark: Any, *values: bytes | None) -> Any:
    """As a topic gives them."""
    rows = [(b"k", value, "t", 0, at, None, 0, None) for at, value in enumerate(values)]
    return spark.createDataFrame(rows, ROWS).coalesce(1)


def faults(frame: Any) -> list[str | None]:
    rows = frame.orderBy("_offset").selectExpr("_fault.message AS said").collect()
    return [row.said for row in rows]


def test_csv_and_text(spark: Any) -> None:
    frame = parse_csv(records(spark, b"1;a", b"x;b", b"2"), "id INT NOT NULL, name STRING", sep=";")
    assert faults(frame) == [None, "the value is not CSV of the schema: x;b", "the value is not CSV of the schema: 2"]
    [row] = good_rows(frame).collect()
    assert (row.id, row.name, row._key, row._topic, row._offset) == (1, "a", "k", "t", 0)
    assert [row.value for row in good_rows(parse_text(records(spark, b"words", b"\xff"))).collect()] == ["words"]


def avro(value: dict[str, Any]) -> bytes:
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(dict(AVRO)), value)
    return stream.getvalue()


def test_avro_plain_and_with_a_registrys_five_bytes(spark: Any) -> None:
    good = avro({"id": 7, "note": "hello"})
    plain = parse_avro(records(spark, good, b"\x02", good + b"?"), json.dumps(AVRO))
    [row] = good_rows(plain).collect()
    assert (row.id, row.note) == (7, "hello")
    said = faults(plain)
    assert said[0] is None
    assert said[1] is not None
    assert said[1].startswith("the value is not Avro of the schema: ")
    assert said[2] == "the value goes on for 1 bytes after the record's end"
    framed = parse_avro(records(spark, b"\0\0\0\0\x09" + good, good), json.dumps(AVRO), framing="confluent")
    assert [row.id for row in good_rows(framed).collect()] == [7]
    assert faults(framed)[1] == "the value does not begin with the five bytes of a schema registry"


def test_rules_decide_what_becomes_of_a_row(spark: Any) -> None:
    frame = parse_json(records(spark, *(b'{"n":%d}' % n for n in range(4)), b'{"m":1}'), "n INT")
    frame = expect(frame, "not three", "n <> 3")
    frame = expect_or_drop(frame, "not zero", "n <> 0")
    frame = expect_or_fail(frame, "not one", "n <> 1")
    rows = frame.orderBy("_offset").selectExpr("n", "_fault.action AS action", "_warnings AS warned").collect()
    assert [(row.n, row.action, row.warned) for row in rows] == [
        (0, "drop", []),
        (1, "fail", []),
        (2, None, []),
        (3, None, ["not three"]),
        (None, "drop", ["not three"]),  # null is not true
    ]
    assert dead_letters(frame, "p").count() == 0


def test_a_topic_needs_a_session(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = topic("orders", brokers="localhost:1", spark=spark, maxOffsetsPerTrigger="10")
    assert stream.isStreaming
    assert stream.columns[-1] == "headers"
    assert good_rows(parse_json(stream, "id INT")).isStreaming
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(BadPipeline, match="there is no Spark session"):
        topic("orders")
