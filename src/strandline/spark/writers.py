"""`write` and `writeStream`, at least once: what a task wrote stays, whatever becomes of the task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from strandline.spark.record_writer import write_rows
from strandline.spark.sink_options import SinkOptions


@dataclass
class Written(WriterCommitMessage):
    record_count: int


class BatchWriter(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return Written(write_rows(self._options, iterator))


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return Written(write_rows(self._options, iterator))
