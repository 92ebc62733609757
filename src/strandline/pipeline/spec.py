"""What a pipeline is made of, as its file says it, checked (`validation`) and with nothing of Spark yet."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

EXACTLY_ONCE = "exactly-once"
AT_LEAST_ONCE = "at-least-once"
APPEND = "append"
UPSERT = "upsert"

Format = Literal["json", "csv", "text", "avro"]
Otherwise = Literal["warn", "drop", "fail", "dead-letter"]

# The record that a row came from. No sink writes these; name them anew in SQL to keep them.
RECORD_COLUMNS = ("_key", "_topic", "_partition", "_offset", "_timestamp", "_headers")
# What judging a record adds while it lasts.
JUDGING_COLUMNS = ("_record", "_fault", "_warnings")
# And reading it.
READING_COLUMNS = ("_parsed", "_malformed", "_message", "_avro")


MASTER = re.compile(r"local(\[(\*|[0-9]+)(, *[0-9]+)?\])?|local-cluster\[[0-9, ]+\]|yarn|(spark|k8s)://.+")
NO_MASTER = "is no Spark: write local[*], local[2], spark://host:7077, yarn or k8s://…"


def is_master(text: str) -> bool:
    """Whether it can be an address of a Spark at all. To find out otherwise takes Spark half a minute."""
    return MASTER.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    topics: tuple[str, ...] = ()
    pattern: str = ""  # instead of topics
    start: str = "latest"  # of a pipeline that has not run before
    records_per_batch_max: int = 500_000
    fail_on_data_loss: bool = True

    def reads(self, topic: str) -> bool:
        """A pattern is found anywhere in a name, as in Spark."""
        return topic in self.topics or (bool(self.pattern) and re.search(self.pattern, topic) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parse:
    format: Format = "text"
    schema: str = ""  # in DDL; that of a file, for Avro
    required: tuple[str, ...] = ()  # columns that are NOT NULL
    options: dict[str, str] = field(default_factory=dict)  # Spark's, of JSON and CSV
    avro_schema: str = ""  # JSON
    framing: Literal["plain", "confluent"] = "plain"  # confluent: five bytes stand before each value
    nulls: Literal["error", "keep", "drop"] = "error"  # what a record without a value is
    on_error: Otherwise = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    name: str
    rule: str  # SQL that is true of a good row
    otherwise: Otherwise = "warn"


@dataclass(frozen=True, slots=True)
class Sql:
    text: str  # over `records`


@dataclass(frozen=True, slots=True)
class PythonFunction:
    module: str
    function: str  # takes a DataFrame and returns one


@dataclass(frozen=True, slots=True)
class Watermark:
    column: str
    delay: str


Step = Sql | PythonFunction | Watermark


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSink:
    topic: str
    key: str = ""  # SQL; empty for none
    value: str = ""  # SQL; empty for all columns as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetSink:
    path: str
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMode:
    """How rows go into a table: beside those that are there, or in place of those with the same key."""

    mode: Literal["append", "upsert"] = "append"
    key: tuple[str, ...] = ()
    order_by: str = "_offset"  # the last row of a key in a batch wins
    delete_when: str = ""  # SQL


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSink:
    path: str
    partition_by: tuple[str, ...] = ()
    rows: TableMode = TableMode()


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSink:
    table: str  # namespace.name
    catalog: dict[str, str] = field(default_factory=dict)  # pyiceberg's properties


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSink:
    url: str
    table: str
    options: dict[str, str] = field(default_factory=dict)  # user, password, driver and what else the driver wants
    rows: TableMode = TableMode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSink:
    rows: int = 20


Sink = TopicSink | ParquetSink | DeltaSink | IcebergSink | JdbcSink | ConsoleSink
SINK_NAMES: dict[type, str] = {
    TopicSink: "topic",
    ParquetSink: "parquet",
    DeltaSink: "delta",
    IcebergSink: "iceberg",
    JdbcSink: "jdbc",
    ConsoleSink: "console",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    name: str
    directory: str  # of the file: what it names is looked for there
    client: dict[str, str] = field(default_factory=dict)  # bootstrap.servers and the like
    source: Source
    parse: Parse = Parse()
    expect: tuple[Expectation, ...] = ()
    transform: tuple[Step, ...] = ()
    sinks: tuple[Sink, ...] = ()
    output_mode: Literal["append", "update"] = "append"
    dead_letter: str = ""  # a topic
    delivery: str = EXACTLY_ONCE  # into topics, the one for dead letters too
    trigger: str = "10 seconds"  # or `once`: what is there now, and then end
    checkpoint: str = ""
    master: str = "local[*]"
    spark: dict[str, str] = field(default_factory=dict)

    @property
    def group_id(self) -> str:
        """Where its progress is to be seen by those who look at consumer groups."""
        return f"spark-{self.name}"

    @property
    def judges(self) -> bool:
        """Whether a record can be bad."""
        return self.parse.format != "text" or self.parse.nulls == "error" or bool(self.expect)
