"""One micro-batch: records are judged, the good ones transformed, and all of it is written, once.

Where a transformation looks at one row at a time, all of that happens to the batch of records itself. Where it has to
remember (aggregation, a watermark), Spark transforms the stream before, and the batch holds its results; the records of
the batch are then read again by their offsets, to find the bad ones. Either way good and bad go out under one number,
and nothing is written before every record is judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import functions as F  # noqa: N812

from strandline.pipeline.batch_key import BatchKey
from strandline.pipeline.failures import PipelineFailed
from strandline.pipeline.judging import good_rows, judge, without_record_columns
from strandline.pipeline.parsing import parse
from strandline.pipeline.sinks.delta import write_delta
from strandline.pipeline.sinks.iceberg import write_iceberg
from strandline.pipeline.sinks.jdbc import write_jdbc
from strandline.pipeline.sinks.parquet import write_parquet
from strandline.pipeline.sinks.topics import outgoing_dead_letters, outgoing_rows, write_topics
from strandline.pipeline.spec import (
    ConsoleSink,
    DeltaSink,
    IcebergSink,
    JdbcSink,
    ParquetSink,
    Pipeline,
    Sink,
    TopicSink,
)
from strandline.pipeline.transforming import transform

ReadAgain = Callable[[Any, int], Any]  # the records of a batch, by a session and the batch's number


@dataclass(slots=True)
class Tally:
    """Of all batches since the pipeline was started."""

    records: int = 0
    dead_letters: int = 0
    dropped: int = 0
    warnings: Counter[str] = field(default_factory=Counter)


class BatchSteps:
    def __init__(self, pipeline: Pipeline, run_id: str, read_again: ReadAgain | None = None) -> None:
        """With `read_again`, what comes is the results of the stream; otherwise records."""
        self.tally = Tally()
        self.failure: Exception | None = None
        self._pipeline = pipeline
        self._run_id = run_id
        self._read_again = read_again

    def __call__(self, frame: Any, batch_id: int) -> None:
        """For foreachBatch. Spark wraps what goes wrong in words of its own, so it is kept here as well."""
        try:
            self._write(frame, BatchKey(self._pipeline.name, self._run_id, batch_id))
        except Exception as error:
            self.failure = error
            raise

    def _write(self, frame: Any, key: BatchKey) -> None:
        records = frame if self._read_again is None else self._read_again(frame.sparkSession, key.batch_id)
        judged = judge(parse(records, self._pipeline.parse), self._pipeline.expect).persist()
        results = None
        try:
            count = self._count(judged)
            if self._read_again is None and not count:
                return
            if self._read_again is None:
                frame = transform(good_rows(judged), self._pipeline.transform, self._pipeline.directory)
            results = frame.persist()
            for sink in self._pipeline.sinks:
                _write_sink(results, sink, key)
            self._write_topics(results, judged, key)
        finally:
            judged.unpersist()
            if results is not None:
                results.unpersist()

    def _count(self, judged: Any) -> int:
        """How many records there are; and the end of it if one has a fault that nobody may live with."""
        place = F.struct(
            F.concat_ws("-", "_topic", "_partition").alias("partition"),
            "_offset",
            F.col("_fault.message").alias("said"),
        )
        counts = judged.groupBy(F.col("_fault.action").alias("action"), "_warnings")
        rows = counts.agg(F.count(F.lit(1)).alias("count"), F.min(place).alias("first")).collect()
        for row in rows:
            if row["action"] == "fail":
                raise PipelineFailed(_fatal(row["count"], row["first"]))
        for row in rows:
            self.tally.records += row["count"]
            self.tally.dead_letters += row["count"] * (row["action"] == "dead-letter")
            self.tally.dropped += row["count"] * (row["action"] == "drop")
            for name in row["_warnings"]:
                self.tally.warnings[name] += row["count"]
        return sum(row["count"] for row in rows)

    def _write_topics(self, results: Any, judged: Any, key: BatchKey) -> None:
        outgoing = [outgoing_rows(results, sink) for sink in self._pipeline.sinks if isinstance(sink, TopicSink)]
        if self._pipeline.dead_letter:
            outgoing.append(outgoing_dead_letters(judged, self._pipeline))
        if outgoing:
            both = outgoing[0] if len(outgoing) == 1 else outgoing[0].unionByName(outgoing[1])
            write_topics(both, self._pipeline, key)


def _fatal(count: int, first: Any) -> str:
    return (
        f"{count} of the records are bad, the first at {first['partition']} offset {first['_offset']}: {first['said']};"
        " correct the pipeline, or let such records be dropped or dead-lettered"
    )


def _write_sink(results: Any, sink: Sink, key: BatchKey) -> None:
    match sink:
        case ParquetSink():
            write_parquet(results, sink, key)
        case DeltaSink():
            write_delta(results, sink, key)
        case IcebergSink():
            write_iceberg(results, sink, key)
        case JdbcSink():
            write_jdbc(results, sink, key)
        case ConsoleSink():
            without_record_columns(results).show(sink.rows, truncate=False)
        case TopicSink():
            pass  # goes out with the dead letters
