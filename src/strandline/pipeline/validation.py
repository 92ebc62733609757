"""A file into a pipeline, or into all that is wrong with it, each with its line and one sentence. No Spark here."""

from __future__ import annotations

import os
import re
from typing import get_args

from strandline.client.moments import BadMoment, parse_moment
from strandline.client.settings import ClientSettings
from strandline.model.partitions import is_topic_name
from strandline.model.settings import BadSetting
from strandline.pipeline.avro_schema import ddl_of_avro
from strandline.pipeline.ddl import parse_ddl
from strandline.pipeline.failures import BadPipeline, PipelineFailed
from strandline.pipeline.fields import Fields
from strandline.pipeline.option_validation import check_options
from strandline.pipeline.sink_validation import read_sinks
from strandline.pipeline.spec import (
    AT_LEAST_ONCE,
    EXACTLY_ONCE,
    JUDGING_COLUMNS,
    NO_MASTER,
    READING_COLUMNS,
    RECORD_COLUMNS,
    Expectation,
    Format,
    Otherwise,
    Parse,
    Pipeline,
    Source,
    TopicSink,
    is_master,
)
from strandline.pipeline.step_validation import check_sql, read_steps
from strandline.pipeline.triggers import ONCE, milliseconds_of
from strandline.pipeline.yaml_file import Problem, read_yaml

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
OTHERWISE = get_args(Otherwise)
WORDS = ("earliest", "latest")
TAKEN = frozenset((*RECORD_COLUMNS, *JUDGING_COLUMNS, *READING_COLUMNS))


def read_pipeline(path: str) -> Pipeline:
    """The pipeline of a file; BadPipeline with its first mistake, and how many there are."""
    pipeline, problems = check_pipeline(path)
    if pipeline is None:
        more = f" (and {len(problems) - 1} more: see `strandline pipeline validate {path}`)" if problems[1:] else ""
        raise BadPipeline(f"{path}: {problems[0]}{more}")
    return pipeline


def check_pipeline(path: str) -> tuple[Pipeline | None, list[Problem]]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        raise BadPipeline(f"{path}: there is no such file; `strandline pipeline init {path}` writes one") from None
    except UnicodeDecodeError:
        raise BadPipeline(f"{path} is not text in UTF-8") from None
    except OSError as error:
        raise BadPipeline(f"{path}: {error.strerror}") from None
    return check_text(text, os.path.dirname(os.path.abspath(path)))


def check_text(text: str, directory: str) -> tuple[Pipeline | None, list[Problem]]:
    problems: list[Problem] = []
    root = read_yaml(text, problems)
    if root is None or not isinstance(root.value, dict):
        problems = problems or [Problem(1, "", "the file has no fields: begin with `name: …`")]
        return None, problems
    pipeline = _read(Fields(root, "", problems), directory)
    return (None if problems else pipeline), sorted(set(problems))


def _read(fields: Fields, directory: str) -> Pipeline:
    name = fields.text("name", needs="give the pipeline a name")
    if name and not NAME.fullmatch(name):
        fields.note("name", f"{name!r} is no name: use a-z 0-9 . _ - and begin with a letter or a digit")
    dead_letter = fields.text("dead_letter")
    _check_topic(fields, "dead_letter", dead_letter)
    trigger = fields.text("trigger", "10 seconds")
    if trigger != ONCE and milliseconds_of(trigger) is None:
        fields.note("trigger", f"{trigger!r} is neither `{ONCE}` nor a length of time as in `10 seconds`")
    master = fields.text("master") or "local[*]"
    if not is_master(master):
        fields.note("master", f"{master!r} {NO_MASTER}")
    pipeline = Pipeline(
        name=name,
        directory=directory,
        client=_client(fields),
        source=_source(fields.section("source"), is_there=fields.has("source")),
        parse=_parse(fields.section("parse"), directory, has_dead_letter=bool(dead_letter)),
        expect=_expectations(fields),
        transform=read_steps(fields, directory),
        sinks=read_sinks(fields, directory),
        output_mode=fields.choice("output_mode", ("append", "update"), "append"),
        dead_letter=dead_letter,
        delivery=fields.choice("delivery", (EXACTLY_ONCE, AT_LEAST_ONCE), EXACTLY_ONCE),
        trigger=trigger,
        checkpoint=_path(directory, fields.text("checkpoint") or f".strandline/{name}"),
        master=master,
        spark=fields.settings("spark"),
    )
    fields.end()
    _check_dead_letters(fields, pipeline)
    _check_circle(fields, pipeline)
    if not fields.problems:
        check_options(fields, pipeline)
    return pipeline


def _path(directory: str, path: str) -> str:
    """Beside the file, unless it says where."""
    return path if "://" in path else os.path.normpath(os.path.join(directory, os.path.expanduser(path)))


def _client(fields: Fields) -> dict[str, str]:
    """`brokers`, and Kafka's other settings of a client under `kafka`."""
    properties = fields.settings("kafka")
    brokers = fields.texts("brokers")
    if brokers:
        properties["bootstrap.servers"] = ",".join(brokers)
    try:
        ClientSettings.of(properties)
    except BadSetting as error:
        name = "brokers" if "bootstrap.servers" in str(error) and brokers else "kafka"
        fields.note(name, str(error))
    return properties


def _source(fields: Fields, *, is_there: bool) -> Source:
    topics, pattern = fields.texts("topics"), fields.text("pattern")
    if not is_there:
        fields.note("", "is missing: say which topics to read, as in `source: {topics: [orders]}`")
    elif bool(topics) == bool(pattern):
        fields.note("topics", "name the topics to read here, or a `pattern` of their names, and not both")
    for topic in topics:
        _check_topic(fields, "topics", topic)
    if pattern:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            fields.note("pattern", f"{pattern!r} is not a regular expression: {error}")
            pattern = ""
    start = fields.text("start", "latest")
    _check_start(fields, start)
    source = Source(
        topics=topics,
        pattern=pattern,
        start=start,
        records_per_batch_max=fields.whole("max_records_per_batch", Source().records_per_batch_max),
        fail_on_data_loss=fields.boolean("fail_on_data_loss", True),
    )
    fields.end()
    return source


def _check_start(fields: Fields, start: str) -> None:
    if start in WORDS or start.startswith("{"):
        return
    try:
        parse_moment(start, 0)
    except BadMoment:
        fields.note("start", f"{start!r} is no place to begin: write earliest, latest, @-1h or 2026-11-15T04:12:42Z")


def _check_topic(fields: Fields, name: str, topic: str) -> None:
    if topic and not is_topic_name(topic):
        fields.note(name, f"{topic!r} is not a topic name: use 1 to 249 of a-z A-Z 0-9 . _ -")


def _parse(fields: Fields, directory: str, *, has_dead_letter: bool) -> Parse:
    form = fields.choice("format", get_args(Format), "text")
    schema, avro_schema = fields.text("schema"), ""
    if form == "avro":
        avro_schema, schema = _avro(fields, directory)
    elif form == "text" and schema:
        fields.note("schema", "is for json and csv; a text has one column, `value`")
    elif form in ("json", "csv") and not schema:
        fields.note("schema", f"is missing: {form} needs one, as in `id BIGINT NOT NULL, name STRING`")
    required: tuple[str, ...] = ()
    if schema:
        try:
            columns = parse_ddl(schema)
            required = tuple(column.name for column in columns if column.is_required)
            for name in [column.name for column in columns if column.name.lower() in TAKEN]:
                fields.note("schema", f"column {name} has a name that stands for something of the record itself")
        except PipelineFailed as error:
            fields.note("schema", str(error))
    parse = Parse(
        format=form,
        schema=schema,
        required=required,
        avro_schema=avro_schema,
        framing=fields.choice("framing", ("plain", "confluent"), "plain"),
        options=fields.settings("options"),
        nulls=fields.choice("nulls", ("error", "keep", "drop"), "error"),
        on_error=fields.choice("on_error", OTHERWISE, "dead-letter" if has_dead_letter else "fail"),
    )
    if parse.on_error == "warn":
        fields.note("on_error", "a record that cannot be read cannot be passed on: choose from drop, fail, dead-letter")
    fields.end()
    return parse


def _avro(fields: Fields, directory: str) -> tuple[str, str]:
    path = fields.text("schema_file", needs="avro needs the file of its schema, as in `schema_file: order.avsc`")
    if not path:
        return "", ""
    try:
        with open(_path(directory, path), encoding="utf-8") as file:
            text = file.read()
        return text, ddl_of_avro(text)
    except (OSError, UnicodeDecodeError) as error:
        fields.note("schema_file", f"cannot read {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}")
    except PipelineFailed as error:
        fields.note("schema_file", f"{path}: {error}")
    return "", ""


def _expectations(fields: Fields) -> tuple[Expectation, ...]:
    found = []
    for at, section in enumerate(fields.sections("expect")):
        rule = section.text("rule", needs="write what is true of a good row in SQL, as in `rule: amount > 0`")
        check_sql(section, "rule", rule)
        name = section.text("name", rule)
        found.append(Expectation(name=name, rule=rule, otherwise=section.choice("otherwise", OTHERWISE, "warn")))
        section.end()
        if name in [each.name for each in found[:at]]:
            section.note("name", f"there is another rule called {name!r}")
    return tuple(found)


def _check_dead_letters(fields: Fields, pipeline: Pipeline) -> None:
    asking = [each.name for each in pipeline.expect if each.otherwise == "dead-letter"]
    if pipeline.parse.on_error == "dead-letter":
        asking.append("parse")
    if asking and not pipeline.dead_letter:
        fields.note("dead_letter", f"is missing: name a topic for the bad records of {', '.join(asking)}")


def _check_circle(fields: Fields, pipeline: Pipeline) -> None:
    for sink in pipeline.sinks:
        if isinstance(sink, TopicSink) and pipeline.source.reads(sink.topic):
            fields.note("sink", f"writes to {sink.topic}, which the pipeline reads: it would never come to an end")
        if isinstance(sink, TopicSink) and sink.topic == pipeline.dead_letter:
            fields.note("dead_letter", f"{sink.topic} is also the sink: bad records would be among the good")
    if pipeline.dead_letter and pipeline.source.reads(pipeline.dead_letter):
        fields.note(
            "dead_letter", f"{pipeline.dead_letter} is read by the pipeline: a bad record would come back for ever"
        )
