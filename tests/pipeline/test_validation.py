"""A pipeline's file: what it means, and every mistake in it with its line, without Spark (SPEC D3)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from strandline.pipeline.avro_schema import ddl_of_avro
from strandline.pipeline.ddl import Column, parse_ddl
from strandline.pipeline.example import example
from strandline.pipeline.failures import BadPipeline
from strandline.pipeline.spec import DeltaSink, ParquetSink, Pipeline, PythonFunction, Sql, TableMode, Watermark
from strandline.pipeline.triggers import milliseconds_of
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
        (MINIMAL.replace("{console: {}}", "[]"), "line 3: sink: is missing: say where rows go"),
        (MINIMAL.replace("console: {}", "parquet: {path: ''}"), "line 3: sink.parquet.path: is missing: say which"),
        (MINIMAL + "parse: {format: json, schema: _MALFORMED STRING}\n", "line 4: parse.schema: column _MALFORMED has"),
        (MINIMAL + "trigger: 0.1 ms\n", "line 4: trigger: '0.1 ms' is neither `once` nor a length of time"),
        (MINIMAL + "trigger: 9999999 days\n", "line 4: trigger: '9999999 days' is neither `once` nor a length of time"),
        (MINIMAL + "master: locally\n", "line 4: master: 'locally' is no Spark: write local[*], local[2], spark://"),
        (MINIMAL + "<<: {trigger: once}\n", "line 4: <<: is not understood here: write the fields out"),
    ],
)
def test_a_mistake_is_one_sentence(text: str, sentence: str) -> None:
    assert any(each.startswith(sentence) for each in mistakes(text)), mistakes(text)


def test_a_checkpoint_without_a_name_is_not_the_folder_of_the_file() -> None:
    assert sound(MINIMAL + "checkpoint: ''\n").checkpoint == "/somewhere/.strandline/a"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("dead_letter: orders.dead\n", "line 4: dead_letter: orders.dead is read by the pipeline: a bad record would"),
        ("", "line 3: sink: writes to all-orders, which the pipeline reads"),
    ],
)
def test_what_a_pattern_finds_is_read_too(text: str, sentence: str) -> None:
    """A name that the pattern is found in would be a circle as soon as the topic is there."""
    whole = MINIMAL.replace("topics: [orders]", "pattern: orders").replace("console: {}", "topic: {topic: all-orders}")
    assert any(each.startswith(sentence) for each in mistakes(whole + text)), mistakes(whole + text)
    assert sound(whole.replace("pattern: orders", "pattern: ^orders"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (MINIMAL.replace("[orders]", "[orders], start: '{\"orders\":'"), "line 2: source: Expected e.g."),
        (MINIMAL.replace("[orders]", "[orders], start: '{\"orders\":[5]}'"), "line 2: source: Expected e.g."),
        (MINIMAL.replace("[orders]", "[orders], start: 1960-01-01"), "line 2: source: 1960-01-01 is before 1970"),
        (MINIMAL + "kafka: {auto.offset.reset: earliest}\n", "line 4: kafka: Kafka option 'auto.offset.reset' is not"),
        (
            MINIMAL.replace("console: {}", "topic: {topic: out}") + "kafka: {acks: 1}\n",
            "line 4: kafka: option kafka.acks=1 cannot be exactly-once: leave it out",
        ),
        (
            MINIMAL + "dead_letter: dead\nkafka: {enable.idempotence: false}\n",
            "line 5: kafka: option kafka.enable.idempotence=false cannot be exactly-once",
        ),
    ],
)
def test_what_the_source_and_the_sink_would_refuse_is_refused_before_they_are_started(text: str, sentence: str) -> None:
    assert any(each.startswith(sentence) for each in mistakes(text)), mistakes(text)
    assert sound(MINIMAL + "kafka: {acks: 1}\n"), "which writes to no topic"
    assert sound(MINIMAL.replace("[orders]", "[orders], start: '@-1h'"))


@pytest.mark.parametrize(
    "value",
    ["2026-13-45", "!!int foo", "!!int ''", "!!float x", "!!bool maybe", "!!timestamp x", "!!binary '%'"],
)
def test_a_value_that_yaml_cannot_read_is_taken_as_it_is_written(value: str) -> None:
    assert mistakes(MINIMAL + f"trigger: {value}\n")
    assert mistakes(MINIMAL + f"{value}: x\n")


@pytest.mark.parametrize(
    "text",
    [
        "name: &a [*a]",
        "name: &a {b: *a}",
        "name: " + "[" * 3000,
        "name: " + "{a: " * 1500,
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "\n".join(f"{after}: &{after} [{','.join(9 * [f'*{before}'])}]" for before, after in pairwise("abcdefghij")),
    ],
    ids=["a list in itself", "a section in itself", "deep lists", "deep sections", "a billion laughs"],
)
def test_a_file_without_end_is_a_mistake_and_no_hang(text: str) -> None:
    [told] = mistakes(text)
    assert "lies too deep" in told or "more than 10000 values" in told


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*, 4]", "spark://a:7077,b:7077", "yarn", "k8s://https://x"]
)
def test_the_masters_that_spark_knows(master: str) -> None:
    assert sound(MINIMAL + f"master: '{master}'\n").master == master


def test_lengths_of_time_are_those_that_spark_takes() -> None:
    """Which knows whole words only, and fractions of seconds alone."""
    for text, milliseconds in (("10 s", 10_000), ("1.5 minutes", 90_000), ("0 seconds", 0), ("250ms", 250)):
        assert milliseconds_of(sound(MINIMAL + f"trigger: {text}\n").trigger) == milliseconds


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (MINIMAL + "kafka: {nonsense: 1}\n", "line 4: kafka: nonsense is not a setting of the client"),
    ],
)
def test_a_setting_is_told_of_once(text: str, sentence: str) -> None:
    [told] = mistakes(text)
    assert told.startswith(sentence)


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
        ("a " + "array<" * 200, "the type of column a lies in more than 50 others"),
        (
            "a decimal(39)",
            "DECIMAL(39) cannot be (of column a): at most 38 digits, as in DECIMAL(10,2)",
        ),
        (
            "a decimal(5,6)",
            "DECIMAL(5,6) cannot be (of column a): at most 38 digits, as in DECIMAL(10,2)",
        ),
        ("a varchar(5)", "VARCHAR is for tables, and not for what is read (of column a): use STRING"),
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
