"""Parquet files: a folder for each batch, there as a whole or not at all, because it gets its name when it is done.

The folder's name is a value of the column `strandline_batch`, as Spark reads folders. Until then it has a name that no
other try has: executors of a driver that died may still write for a while, and must not write into ours.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from strandline.pipeline.batch_key import BatchKey
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.judging import without_record_columns
from strandline.pipeline.spec import ParquetSink


def write_parquet(frame: Any, sink: ParquetSink, key: BatchKey) -> None:
    rows = without_record_columns(frame)
    jvm = rows.sparkSession._jvm
    done = jvm.org.apache.hadoop.fs.Path(f"{sink.path}/strandline_batch={key.folder}")
    staging = jvm.org.apache.hadoop.fs.Path(f"{sink.path}/.staging-{key.folder}-{uuid4()}")
    files = done.getFileSystem(rows.sparkSession._jsc.hadoopConfiguration())
    if files.exists(done) or rows.isEmpty():
        return
    for left in files.globStatus(jvm.org.apache.hadoop.fs.Path(f"{sink.path}/.staging-{key.folder}*")) or ():
        files.delete(left.getPath(), True)
    rows.write.partitionBy(*sink.partition_by).parquet(str(staging.toString()))
    if not files.rename(staging, done):
        raise PipelineFailed(f"{staging.toString()} could not be renamed to {done.toString()}")
