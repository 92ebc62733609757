"""Where a pipeline writes to: each sink with its own fields."""

from __future__ import annotations

import os

from strandline.model.partitions import is_topic_name
from strandline.pipeline.fields import Fields
from strandline.pipeline.spec import (
    APPEND,
    SINK_NAMES,
    UPSERT,
    ConsoleSink,
    DeltaSink,
    IcebergSink,
    JdbcSink,
    ParquetSink,
    Sink,
    TableMode,
    TopicSink,
)
from strandline.pipeline.step_validation import check_sql


def read_sinks(fields: Fields, directory: str) -> tuple[Sink, ...]:
    """`sink` is one section, or a list of them; each has the name of its kind: `delta: {path: …}`."""
    sinks: list[Sink] = []
    for section in fields.sections("sink"):
        kinds = [name for name in SINK_NAMES.values() if name in section.names()]
        if len(kinds) != 1:
            section.note("", f"is one of {', '.join(SINK_NAMES.values())}, and {', '.join(kinds) or 'none'} is there")
            continue
        sinks.append(_read(kinds[0], section.section(kinds[0]), directory))
        section.end()
    node = fields.node("sink")
    if node is None or node.value == []:
        fields.note("sink", "is missing: say where rows go, as in `sink: {console: {}}`")
    names = [SINK_NAMES[type(sink)] for sink in sinks]
    for name in sorted({each for each in names if names.count(each) > 1}):
        fields.note("sink", f"has {name} twice: one of a kind is all that a pipeline can have")
    return tuple(sinks)


def _read(kind: str, section: Fields, directory: str) -> Sink:
    match kind:
        case "topic":
            sink: Sink = _topic(section)
        case "parquet":
            sink = ParquetSink(path=_path(section, directory), partition_by=section.texts("partition_by"))
        case "delta":
            sink = DeltaSink(
                path=_path(section, directory), partition_by=section.texts("partition_by"), rows=_mode(section)
            )
        case "iceberg":
            sink = _iceberg(section)
        case "jdbc":
            sink = _jdbc(section)
        case _:
            sink = ConsoleSink(rows=section.whole("rows", ConsoleSink().rows))
    section.end()
    return sink


def _path(section: Fields, directory: str) -> str:
    path = section.text("path", needs="say which folder the table is in")
    return path if "://" in path else os.path.normpath(os.path.join(directory, os.path.expanduser(path)))


def _topic(section: Fields) -> TopicSink:
    topic = section.text("topic", needs="name the topic to write to")
    if topic and not is_topic_name(topic):
        section.note("topic", f"{topic!r} is not a topic name: use 1 to 249 of a-z A-Z 0-9 . _ -")
    key, value = section.text("key"), section.text("value")
    for name, text in (("key", key), ("value", value)):
        check_sql(section, name, text)
    return TopicSink(topic=topic, key=key, value=value)


def _iceberg(section: Fields) -> IcebergSink:
    table = section.text("table", needs="name the table as in `namespace.table`")
    if table and "." not in table:
        section.note("table", f"{table!r} has no namespace: write `namespace.table`")
    catalog = section.settings("catalog")
    if "uri" not in catalog:
        section.note("catalog", "needs a uri, as in `uri: sqlite:///catalog.db`, and a warehouse")
    return IcebergSink(table=table, catalog=catalog)


def _jdbc(section: Fields) -> JdbcSink:
    url = section.text("url", needs="give the database's address, as in `jdbc:postgresql://host/base`")
    if url and not url.startswith("jdbc:"):
        section.note("url", f"{url!r} is no JDBC address: it begins with jdbc:")
    table = section.text("table", needs="name the table to write to")
    return JdbcSink(url=url, table=table, options=section.settings("options"), rows=_mode(section))


def _mode(section: Fields) -> TableMode:
    mode = section.choice("mode", (APPEND, UPSERT), APPEND)
    key, delete_when = section.texts("key"), section.text("delete_when")
    check_sql(section, "delete_when", delete_when)
    if mode == UPSERT and not key:
        section.note("key", "is missing: an upsert needs the columns that say which row is which")
    if mode == APPEND:
        for name in ("key", "delete_when", "order_by"):
            if section.has(name):
                section.note(name, "is for `mode: upsert`")
    return TableMode(mode=mode, key=key, delete_when=delete_when, order_by=section.text("order_by", "_offset"))  # type: ignore[arg-type]
