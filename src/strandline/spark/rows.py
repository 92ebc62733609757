"""The rows of the source: the columns of Spark's Kafka connector, in its order."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
ROWS = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
ROWS_WITH_HEADERS = StructType([*ROWS.fields, StructField("headers", HEADERS)])


def rows_schema(*, include_headers: bool) -> StructType:
    return ROWS_WITH_HEADERS if include_headers else ROWS
