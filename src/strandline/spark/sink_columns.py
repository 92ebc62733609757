"""The columns that the sink takes, as Spark's own: value, and perhaps key, headers, topic and partition.

Other columns are left alone, so that what was read from a topic can be written to another as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.types import BinaryType, DataType, IntegerType, StringType, StructType

from strandline.records.record import Headers
from strandline.spark.failures import BadOption, WriteFailed
from strandline.spark.rows import HEADERS

COLUMNS: dict[str, tuple[DataType, ...]] = {
    "topic": (StringType(),),
    "key": (StringType(), BinaryType()),
    "value": (StringType(), BinaryType()),
    "headers": (HEADERS,),
    "partition": (IntegerType(),),
}


class OutgoingRecord(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int | None


def check_columns(schema: StructType, topic: str | None) -> None:
    """Before anything is read."""
    fields = {field.name: field.dataType for field in schema.fields}
    if topic is None and "topic" not in fields:
        raise BadOption(
            "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
        )
    if "value" not in fields:
        raise BadOption("Required attribute 'value' not found")
    for name, wanted in COLUMNS.items():
        if name in fields and not (name == "topic" and topic is not None) and not _is_one_of(fields[name], wanted):
            names = " or ".join(each.simpleString() for each in wanted)
            raise BadOption(
                f"{name} attribute unsupported type {fields[name].simpleString()}. {name} must be a(n) {names}"
            )


def _is_one_of(found: DataType, wanted: tuple[DataType, ...]) -> bool:
    """Whatever may be null in it."""
    return any(found.simpleString() == each.simpleString() for each in wanted)


def records_of(rows: pa.RecordBatch, topic: str | None) -> Iterator[OutgoingRecord]:
    count = rows.num_rows
    nothing = [None] * count
    topics = [topic] * count if topic is not None else rows.column("topic").to_pylist()
    keys, values = (_bytes(rows, name) or nothing for name in ("key", "value"))
    headers = rows.column("headers").to_pylist() if "headers" in rows.schema.names else nothing
    partitions = rows.column("partition").to_pylist() if "partition" in rows.schema.names else nothing
    for to, key, value, pairs, partition in zip(topics, keys, values, headers, partitions, strict=True):
        if to is None:
            raise WriteFailed("The message data contains a null topic. Use the `topic` option for setting a topic.")
        yield OutgoingRecord(to, key, value, _headers(pairs), partition)


def _bytes(rows: pa.RecordBatch, name: str) -> list[bytes | None]:
    return rows.column(name).cast(pa.binary()).to_pylist() if name in rows.schema.names else []


def _headers(pairs: list[dict[str, str | bytes | None] | None] | None) -> Headers:
    if not pairs:
        return ()
    found = []
    for pair in pairs:
        if pair is None or not isinstance(pair["key"], str):
            raise WriteFailed("a header without a key is in the data: headers need keys, values may be null")
        value = pair["value"]
        found.append((pair["key"], value.encode() if isinstance(value, str) else value))
    return tuple(found)
