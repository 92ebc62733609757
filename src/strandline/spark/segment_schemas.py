"""The columns of `format("strandline.segments")`: of a row for each record, and of a row for each batch.

Fields of a batch are as stored: a producer id, epoch or sequence of -1 means that there is none. Where something could
not be read, its columns are null and `fault` is not. Spark has no way to tell a Python source which columns a query
uses, so it would be sent all of them: who wants few gives their schema to `.schema(...)`, and no other is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from strandline.spark.arrow_decoding import HEADERS_TYPE, TIMESTAMP_TYPE
from strandline.spark.failures import BadOption
from strandline.spark.segment_options import RECORD

ARROW_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": TIMESTAMP_TYPE,
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "array<struct<key:string,value:binary>>": HEADERS_TYPE,
}
PLACE_COLUMNS = {"file": "string", "position": "bigint"}
FORMAT_COLUMNS = {"magic": "int", "codec": "string"}
WRITER_COLUMNS = {"leaderEpoch": "int", "producerId": "bigint", "producerEpoch": "int"}
VERDICT_COLUMNS = {"transactional": "boolean", "control": "boolean", "crcOk": "boolean", "fault": "string"}
RECORD_COLUMNS = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "key": "binary",
    "value": "binary",
    "headers": "array<struct<key:string,value:binary>>",
    **PLACE_COLUMNS,
    **FORMAT_COLUMNS,
    **WRITER_COLUMNS,
    "sequence": "int",
    **VERDICT_COLUMNS,
}
BATCH_COLUMNS = {
    "topic": "string",
    "partition": "int",
    "baseOffset": "bigint",
    "lastOffset": "bigint",
    "recordCount": "int",
    "baseTimestamp": "timestamp",
    "maxTimestamp": "timestamp",
    "timestampType": "int",
    "deleteHorizon": "timestamp",
    **PLACE_COLUMNS,
    "sizeBytes": "bigint",
    **FORMAT_COLUMNS,
    **WRITER_COLUMNS,
    "baseSequence": "int",
    "lastSequence": "int",
    **VERDICT_COLUMNS,
}


def columns_of(row_per: str) -> dict[str, str]:
    return RECORD_COLUMNS if row_per == RECORD else BATCH_COLUMNS


def as_ddl(row_per: str) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns_of(row_per).items())


def arrow_schema(row_per: str, fields: Sequence[Any]) -> pa.Schema:
    """The Arrow schema for the `StructField`s of a schema that Spark hands over, ours or a part of it."""
    known = columns_of(row_per)
    for field in fields:
        if field.name not in known:
            raise BadOption(f"there is no column {field.name!r} in a row per {row_per}; there are {', '.join(known)}")
        if field.dataType.simpleString() != known[field.name]:
            raise BadOption(f"column {field.name} is {known[field.name]}, not {field.dataType.simpleString()}")
    return pa.schema([pa.field(each.name, ARROW_TYPES[known[each.name]], nullable=each.nullable) for each in fields])
