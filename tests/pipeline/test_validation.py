"""A pipeline's file: what it means, and every mistake in it with its line, without Spark (SPEC D3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from strandline.pipeline.avro_schema import ddl_of_avro
from strandline.pipeline.ddl import Column, parse_ddl
from strandline.pipeline.example import example
from strandline.pipeline.failures import BadPipeline
from strandline.pipeline.spec import DeltaSink, ParquetSink, Pipeline, PythonFunction, Sql, TableMode, Watermark
from strandline.pipeline.validation import check_text, read_pipeline

MINIMAL = "name: a\nsource: {topics: [orders]}\nsink: {console: {}}\n"


def sound(text: str, directory: str = "/somewhere") -> Pipeline:
    pipeline, problems = check_text(text, directory)
    assert pipeline is not None, problems
    return pipeline


def mistakes(text: str, directory: str = "/somewhere") -> list[str]:
    pipeline, problems = check_text(text, directory)
    assert pipeline is None
    return [str(problem) for problem in problems]


def test_the_example_is_sound() -> None:
    pipeline = sound(example("orders"))
    assert (pipeline.name, pipeline.source.topics, pipeline.source.start) == ("orders", ("orders",), "earliest")
    assert (pipeline.parse.required, pipeline.parse.on_error) == (("order_id",), "dead-letter")
    assert pipeline.transform == (Sql("SELECT order_id, customer, amount, at FROM records"),)
    assert pipeline.sinks == (ParquetSink(path="/somewhere/orders-rows"),)
    assert pipeline.checkpoint == "/somewhere/.strandline/orders", "paths are beside the file"
    assert pipeline.group_id == "spark-orders"


def test_every_mistake_is_told_with_its_line() -> None:
    text = """\
name: Bad Name
brokerss: x
source: {topics: [a b], start: soon}
parse: {format: json, schema: 'a bigintt'}
expect:
  - rule: (a > 0
    otherwise: explode
transform:
  - sql: DELETE x
  - python: nobody:f
sink: {delta: {mode: upsert}}
trigger: often
"""
    assert mistakes(text) == [
        "line 1: name: 'Bad Name' is no name: use a-z 0-9 . _ - and begin with a letter or a digit",
        "line 2: brokerss: is not a field; did you mean brokers?",
        "line 3: source.start: 'soon' is no place to begin: write earliest, latest, @-1h or 2026-11-15T04:12:42Z",
        "line 3: source.topics: 'a b' is not a topic name: use 1 to 249 of a-z A-Z 0-9 . _ -",
        "line 4: parse.schema: 'bigintt' is no type that Spark knows (of column a); did you mean bigint?",
        "line 6: expect[0].rule: a ) is missing",
        "line 7: expect[0].otherwise: 'explode' is none of warn, drop, fail, dead-letter",
        "line 9: transform[0].sql: is a query: begin with SELECT or WITH",
        "line 10: transform[1].python: there is no module nobody: neither nobody.py beside the file, nor installed",
        "line 11: sink.delta.key: is missing: an upsert needs the columns that say which row is which",
        "line 11: sink.delta.path: is missing: say which folder the table is in",
        "line 12: trigger: 'often' is neither `once` nor a length of time as in `10 seconds`",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "line 1: the file has no fields: begin with `name: …`"),
        ("name: [", "line 1: this is not YAML: expected the node content, but found '<stream end>'"),
        (MINIMAL + "name: b\n", "line 4: name: is there twice"),
        (
            MINIMAL.replace("[orders]", "[orders], pattern: x"),
            "line 2: source.topics: name the topics to read here, or a",
        ),
        (MINIMAL + "dead_letter: orders\n", "line 4: dead_letter: orders is read by the pipeline: a bad record would"),
        (
            MINIMAL.replace("console: {}", "topic: {topic: orders}"),
            "line 3: sink: writes to orders, which the pipeline",
        ),
        (MINIMAL + "expect: {rule: a > 0, otherwise: dead-letter}\n", "line 1: dead_letter: is missing: name a topic"),
        (MINIMAL + "transform: {sql: SELECT 1}\n", "line 4: transform.sql: reads nothing of the stream"),
        (MINIMAL + "transform: {}\n", "line 4: transform: has one of sql, python, watermark in each step"),
        (MINIMAL + "parse: {format: avro}\n", "line 4: parse.schema_file: is missing: avro needs the file"),
        (MINIMAL + "parse: {on_error: warn}\n", "line 4: parse.on_error: a record that cannot be read"),
        (MINIMAL + "parse: {format: json, schema: _key STRING}\n", "line 4: parse.schema: column _key has a name that"),
        (MINIMAL.replace("console: {}", "jdbc: {url: x, table: t}"), "line 3: sink.jdbc.url: 'x' is no JDBC address"),
        (MINIMAL.replace("{console: {}}", "[{console: {}}, {console: {}}]"), "line 3: sink: has console twice"),
        (MINIMAL.replace("sink", "sinks"), "line 1: sink: is missing: say where rows go"),
        (MINIMAL + "kafka: {linger.mss: 5}\n", "line 4: kafka: linger.mss"),
    ],
)
def test_a_mistake_is_one_sentence(text: str, sentence: str) -> None:
    assert any(each.startswith(sentence) for each in mistakes(text)), mistakes(text)


def test_steps_and_sinks_mean_what_they_say(tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("def clean(frame):\n    return frame\n")
    text = MINIMAL.replace(
        "{console: {}}", "{delta: {path: t, mode: upsert, key: id, order_by: at, delete_when: gone}}"
    )
    steps = "transform:\n  - python: steps:clean\n  - watermark: {column: at, delay: 5 minutes}\n"
    pipeline = sound(text + steps, str(tmp_path))
    assert pipeline.transform == (PythonFunction("steps", "clean"), Watermark("at", "5 minutes"))
    rows = TableMode(mode="upsert", key=("id",), order_by="at", delete_when="gone")
    assert pipeline.sinks == (DeltaSink(path=str(tmp_path / "t"), rows=rows),)
    [told] = mistakes(text + steps.replace("clean", "cleen"), str(tmp_path))
    assert told == "line 5: transform[0].python: steps.py has no function cleen"


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    with pytest.raises(BadPipeline, match=r"there is no such file; `strandline pipeline init .*p.yaml` writes one"):
        read_pipeline(str(path))
    path.write_text("name: a\n")
    with pytest.raises(BadPipeline, match=r"line 1: sink: is missing.*\(and 1 more: see `strandline pipeline validate"):
        read_pipeline(str(path))
    path.write_bytes(b"\xff\xff")
    with pytest.raises(BadPipeline, match="is not text in UTF-8"):
        read_pipeline(str(path))


def test_schemas_are_read_as_spark_reads_them() -> None:
    assert parse_ddl("id BIGINT NOT NULL COMMENT 'the ''key''', `odd name` struct<a: int, b: array<string>>") == [
        Column("id", "bigint", True),
        Column("odd name", "struct<`a`:int,`b`:array<string>>", False),
    ]
    assert parse_ddl("m map<string, decimal(10,2)>") == [Column("m", "map<string,decimal(10,2)>", False)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a", "the type of column a is expected at position 2, and the end is there"),
        ("a int,", "a column's name is expected at position 7, and the end is there"),
        ("a int b int", "a comma or the end is expected at position 7, and 'b' is there"),
        ("a array<int", "> is expected at position 12, and the end is there"),
        ("a int, A string", "column a is there twice"),
        ("a number", "'number' is no type that Spark knows (of column a); did you mean double?"),
        ("a int; b int", "';' at position 6 cannot be part of a schema"),
    ],
)
def test_a_bad_schema_is_told_by_its_place(text: str, sentence: str) -> None:
    with pytest.raises(BadPipeline) as raised:
        parse_ddl(text)
    assert str(raised.value) == sentence


def test_avro_schemas_have_columns() -> None:
    schema = """{"type": "record", "name": "order", "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "line", "fields": [
            {"name": "kind", "type": {"type": "enum", "name": "kind", "symbols": ["A"]}}]}}}]}"""
    assert ddl_of_avro(schema) == (
        "`id` bigint, `note` string, `at` timestamp, `price` decimal(10,2), `lines` array<struct<`kind`:string>>"
    )
    assert len(parse_ddl(ddl_of_avro(schema))) == 5
    itself = '{"type": "record", "name": "tree", "fields": [{"name": "left", "type": ["null", "tree"]}]}'
    for bad, sentence in ((itself, "contains itself"), ('"int"', "is not of a record"), ("{", "is not JSON")):
        with pytest.raises(BadPipeline, match=sentence):
            ddl_of_avro(bad)
