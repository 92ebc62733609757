"""Parquet files: a folder for each batch, there as a whole or not at all, because it gets its name when it is done.

The folder's name is a value of the column `strandline_batch`, as Spark reads folders.
"""

from __future__ import annotations

from typing import Any

from strandline.pipeline.batch_key import BatchKey
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.judging import without_record_columns
from strandline.pipeline.spec import ParquetSink


def write_parquet(frame: Any, sink: ParquetSink, key: BatchKey) -> None:
    rows = without_record_columns(frame)
    jvm = rows.sparkSession._jvm
    done = jvm.org.apache.hadoop.fs.Path(f"{sink.path}/strandline_batch={key.folder}")
    staging = jvm.org.apache.hadoop.fs.Path(f"{sink.path}/.staging-{key.folder}")
    files = done.getFileSystem(rows.sparkSession._jsc.hadoopConfiguration())
    if files.exists(done) or rows.isEmpty():
        return
    rows.write.mode("overwrite").partitionBy(*sink.partition_by).parquet(str(staging.toString()))
    if not files.rename(staging, done):
        raise PipelineFailed(f"{staging.toString()} could not be renamed to {done.toString()}")
