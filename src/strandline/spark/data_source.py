"""`format("strandline")` as Spark sees it: a schema, and makers of readers and writers.

Spark makes one of these for each query, in a process of its own, and sends it, pickled, to whoever reads or writes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from strandline.spark.failures import BadOption, SparkFailure, in_one_sentence
from strandline.spark.option_values import boolean_option, refuse_unknown
from strandline.spark.rows import rows_schema
from strandline.spark.source_options import KNOWN, SourceOptions, parse_source_options

if TYPE_CHECKING:
    from strandline.spark.batch_reader import BatchReader
    from strandline.spark.sink_options import SinkOptions
    from strandline.spark.stream_reader import StreamReader
    from strandline.spark.transactional_writers import TransactionalBatchWriter, TransactionalStreamWriter
    from strandline.spark.unusable_reader import UnusableReader
    from strandline.spark.writers import BatchWriter, StreamWriter

NAME = "strandline"


class StrandlineDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        """Asked for by those who read."""
        with in_one_sentence():
            refuse_unknown(self._given(), KNOWN, "source")
            return rows_schema(include_headers=boolean_option(self._given(), "includeHeaders", False))

    def reader(self, schema: StructType) -> BatchReader:
        from strandline.spark.batch_reader import BatchReader

        return BatchReader(self._source_options(schema, is_streaming=False))

    def streamReader(self, schema: StructType) -> StreamReader | UnusableReader:
        from strandline.spark.stream_reader import StreamReader
        from strandline.spark.unusable_reader import UnusableReader

        try:
            return StreamReader(self._source_options(schema, is_streaming=True))
        except SparkFailure as failure:
            return UnusableReader(failure)

    def _source_options(self, schema: StructType, *, is_streaming: bool) -> SourceOptions:
        with in_one_sentence():
            now_ms = time.time_ns() // 1_000_000
            options = parse_source_options(self._given(), is_streaming=is_streaming, now_ms=now_ms)
            if schema != rows_schema(include_headers=options.include_headers):
                raise BadOption(
                    "Kafka source has a fixed schema and cannot be set with a custom one: leave .schema(…) out, and"
                    " parse the value column instead, as in from_json(col('value').cast('string'), schema)"
                )
            return options

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter | TransactionalBatchWriter:
        from strandline.spark.transactional_writers import TransactionalBatchWriter
        from strandline.spark.writers import BatchWriter

        with in_one_sentence():
            if overwrite:
                raise BadOption(
                    'Save mode Overwrite not allowed for Kafka: a topic is only ever appended to. Use .mode("append")'
                )
        options = self._sink_options(schema)
        return TransactionalBatchWriter(options) if options.is_exactly_once else BatchWriter(options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter | TransactionalStreamWriter:  # noqa: ARG002
        """Every output mode appends: what a query changes comes as a new record."""
        from strandline.spark.transactional_writers import TransactionalStreamWriter
        from strandline.spark.writers import StreamWriter

        options = self._sink_options(schema)
        return TransactionalStreamWriter(options) if options.is_exactly_once else StreamWriter(options)

    def _sink_options(self, schema: StructType) -> SinkOptions:
        from strandline.spark.sink_columns import check_columns
        from strandline.spark.sink_options import parse_sink_options

        with in_one_sentence():
            options = parse_sink_options(self._given())
            check_columns(schema, options.topic)
            return options

    def _given(self) -> dict[str, Any]:
        return {name.lower(): text for name, text in self.options.items()}
