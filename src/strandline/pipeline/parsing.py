"""Values of records into columns; a record that cannot be read keeps its place, with the reason in `_fault`.

A parsed frame has the columns of its schema, those of the record (`_key`, `_topic`, `_partition`, `_offset`,
`_timestamp`, `_headers`), and three for judging: `_record` (key and value as they came), `_fault` (null if nothing is
wrong; else what is to become of it, stage, error, message), `_warnings` (names of rules). `good_rows` takes them off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 (everybody's name for it)

from strandline.pipeline.ddl import Column as DdlColumn
from strandline.pipeline.ddl import parse_ddl, quoted
from strandline.pipeline.dead_letter_headers import PARSING
from strandline.pipeline.spec import Parse

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FAULT = "struct<action:string,stage:string,error:string,message:string>"
MALFORMED = "_malformed"
SHOWN_MAX = 80  # letters of a bad value in a message


def parse(frame: DataFrame, how: Parse) -> DataFrame:
    """`frame` has the columns of `format("strandline")`, headers among them."""
    if how.nulls == "drop":
        frame = frame.where("value IS NOT NULL")
    text = F.col("value").cast("string")
    if how.format == "text":
        read, fields, wrong = frame, [text.alias("value")], F.lit(None).cast("string")
    elif how.format == "avro":
        read, fields, wrong = _avro(frame, how)
    else:
        read, fields, wrong = _from_text(frame, how, text)
    null = F.when(F.col("value").isNull(), F.lit("the record has no value (it is a tombstone)"))
    encoding = F.lit(None) if how.format == "avro" else F.when(~F.is_valid_utf8(text), F.lit("the value is not UTF-8"))
    message = F.coalesce(encoding, F.when(F.col("value").isNotNull(), wrong))
    if how.nulls == "error":
        message = F.coalesce(null, message)
    error = f"strandline.{how.format}"
    return read.withColumn("_message", message).select(
        *fields,
        F.col("key").cast("string").alias("_key"),
        *(F.col(name).alias(f"_{name}") for name in ("topic", "partition", "offset", "timestamp", "headers")),
        F.struct("key", "value").alias("_record"),
        fault("_message", how.on_error, PARSING, F.lit(error)).alias("_fault"),
        F.array().cast("array<string>").alias("_warnings"),
    )


def fault(message: str, action: str, stage: str, error: Column) -> Column:
    """Null where the column `message` is."""
    whole = F.struct(
        F.lit(action).alias("action"),
        F.lit(stage).alias("stage"),
        error.alias("error"),
        F.col(message).alias("message"),
    )
    return F.when(F.col(message).isNotNull(), whole).cast(FAULT)


Parsed = tuple[Any, "list[Column]", Any]


def _from_text(frame: DataFrame, how: Parse, text: Column) -> Parsed:
    columns = parse_ddl(how.schema)
    options = {**how.options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": MALFORMED}
    schema = f"{_nullable(columns)}, {MALFORMED} STRING"
    reader: Any = F.from_json if how.format == "json" else F.from_csv
    read = frame.withColumn("_parsed", reader(text, schema, options))
    malformed = F.col("_parsed").isNull() | F.col(f"_parsed.{MALFORMED}").isNotNull()
    shown = F.substring(text, 1, SHOWN_MAX)
    if how.format == "json":
        no_json = F.when(F.try_parse_json(text).isNull(), F.concat(F.lit("the value is not JSON: "), shown))
        reason = F.coalesce(no_json, *_bad_fields(columns, text), F.lit("the value does not fit the schema"))
    else:
        reason = F.concat(F.lit("the value is not CSV of the schema: "), shown)
    missing = _missing(columns, how.required)
    return read, _fields(columns), F.coalesce(F.when(malformed, reason), *missing)


def _bad_fields(columns: Sequence[DdlColumn], text: Column) -> list[Column]:
    """Which of the fields is there, and could not be taken for what it should be."""
    found = []
    for column in columns:
        escaped = column.name.replace("'", "\\'")
        said = F.get_json_object(text, f"$['{escaped}']")
        is_bad = said.isNotNull() & F.col(f"_parsed.{quoted(column.name)}").isNull()
        words = F.concat(F.lit(f"field {column.name} is no {column.type_name}: "), F.substring(said, 1, SHOWN_MAX))
        found.append(F.when(is_bad, words))
    return found


def _missing(columns: Sequence[DdlColumn], required: Sequence[str]) -> list[Column]:
    return [
        F.when(
            F.col(f"_parsed.{quoted(column.name)}").isNull(),
            F.lit(f"field {column.name} is missing, and it is NOT NULL"),
        )
        for column in columns
        if column.name in required
    ]


def _nullable(columns: Sequence[DdlColumn]) -> str:
    return ", ".join(f"{quoted(column.name)} {column.type_name}" for column in columns)


def _fields(columns: Sequence[DdlColumn]) -> list[Column]:
    return [F.col(f"_parsed.{quoted(column.name)}").alias(column.name) for column in columns]


def _avro(frame: DataFrame, how: Parse) -> Parsed:
    from strandline.pipeline.avro_values import avro_reader

    columns = parse_ddl(how.schema)
    reader = avro_reader(how.avro_schema, how.framing == "confluent")
    inner = ",".join(f"{quoted(column.name)}:{column.type_name}" for column in columns)
    read_value = F.udf(reader, f"struct<parsed:struct<{inner}>,fault:string>", useArrow=True)
    read = frame.withColumn("_avro", read_value(F.col("value")))
    read = read.withColumn("_parsed", F.col("_avro.parsed"))
    return read, _fields(columns), F.col("_avro.fault")


def parse_json(frame: DataFrame, schema: str, *, on_error: Any = "dead-letter", **options: str) -> DataFrame:
    """Rows of a topic whose values are JSON of a DDL schema, as in `id BIGINT NOT NULL, name STRING`."""
    return parse(frame, _asked("json", schema, on_error, options))


def parse_csv(frame: DataFrame, schema: str, *, on_error: Any = "dead-letter", **options: str) -> DataFrame:
    return parse(frame, _asked("csv", schema, on_error, options))


def parse_text(frame: DataFrame, *, on_error: Any = "dead-letter") -> DataFrame:
    return parse(frame, Parse(format="text", on_error=on_error))


def parse_avro(frame: DataFrame, schema: str, *, on_error: Any = "dead-letter", framing: Any = "plain") -> DataFrame:
    """`schema` is Avro's, in JSON; `framing="confluent"` where a schema registry's five bytes stand before values."""
    from strandline.pipeline.avro_schema import ddl_of_avro

    return parse(
        frame,
        Parse(format="avro", schema=ddl_of_avro(schema), avro_schema=schema, on_error=on_error, framing=framing),
    )


def _asked(form: Any, schema: str, on_error: Any, options: Mapping[str, str]) -> Parse:
    required = tuple(column.name for column in parse_ddl(schema) if column.is_required)
    return Parse(format=form, schema=schema, required=required, on_error=on_error, options=dict(options))
