"""`spark.read.format("strandline.segments").load(DIR)`: log files as rows, ours or Apache Kafka's (SPEC D2).

No broker is asked and nothing is locked or written, so it works beside a broker that runs. The folders must be there,
under the same path, for the driver and for every executor. docs/spark.md tells the options and columns.

Spark pushes filters into a Python source only where `spark.sql.python.filterPushdown.enabled` is true, and fails a
query whose reader can take them while it is not. The reader is not told. But Spark plans a query with filters to push
in a worker of another module, so the reader takes filters where it is made by that one. A filter only narrows what is
read; Spark still applies it, for a split has more than the rows that are wanted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.types import StructType

from strandline.log.filesystem import RealFileSystem
from strandline.spark.failures import BadOption, ReadFailed, in_one_sentence
from strandline.spark.segment_options import MILLISECOND, SegmentOptions, Wanted, parse_options
from strandline.spark.segment_planning import Split, plan
from strandline.spark.segment_rows import rows_of
from strandline.spark.segment_schemas import arrow_schema, as_ddl
from strandline.spark.unusable_reader import UnusableReader

PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"
TOPICS = 'format("strandline")'
OFFSET_COLUMNS = ("offset", "baseOffset", "lastOffset")
TIMESTAMP_COLUMNS = ("timestamp", "maxTimestamp")


class SegmentsSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "strandline.segments"

    def schema(self) -> str:
        with in_one_sentence():
            return as_ddl(parse_options(self.options).row_per)

    def reader(self, schema: StructType) -> DataSourceReader:
        with in_one_sentence():
            options = parse_options(self.options)
            kind = FilteredSegmentsReader if takes_filters() else SegmentsReader
            return kind(options, arrow_schema(options.row_per, schema.fields))

    def streamReader(self, schema: StructType) -> UnusableReader:  # noqa: ARG002
        return UnusableReader(BadOption(f"log files are read in batches: use spark.read, or {TOPICS} for a stream"))

    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:  # noqa: ARG002
        with in_one_sentence():
            raise BadOption(f"log files are written by brokers alone: write to a topic with {TOPICS}")

    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:
        self.writer(schema, overwrite)


def takes_filters() -> bool:
    started = getattr(sys.modules.get("__main__"), "__spec__", None)
    return PUSHDOWN_WORKER in sys.modules or (started is not None and started.name == PUSHDOWN_WORKER)


class SplitsOfTask(InputPartition):
    def __init__(self, splits: Sequence[Split]) -> None:
        super().__init__(None)
        self.splits = splits


class SegmentsReader(DataSourceReader):
    def __init__(self, options: SegmentOptions, schema: pa.Schema) -> None:
        self._options = options
        self._schema = schema
        self._wanted = options.wanted

    def partitions(self) -> list[InputPartition]:
        with in_one_sentence():
            try:
                tasks = plan(RealFileSystem(), self._options, self._wanted)
            except OSError as error:
                raise ReadFailed(
                    f"{error.filename}: {error.strerror}: whoever runs Spark's driver and executors must be able to"
                    " read the log files"
                ) from None
        return [SplitsOfTask(splits) for splits in tasks] or [SplitsOfTask(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for split in partition.splits:
            yield from rows_of(split, self._options.row_per, self._schema)


class FilteredSegmentsReader(SegmentsReader):
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        for each in filters:
            self._wanted = narrowed(self._wanted, each)
        return filters


def narrowed(wanted: Wanted, condition: Filter) -> Wanted:
    """What is left to read under a further condition; all of it, where nothing is known of the condition."""
    if isinstance(condition, EqualTo | EqualNullSafe):
        return _among(wanted, condition.attribute, (condition.value,))
    if isinstance(condition, In):
        return _among(wanted, condition.attribute, condition.value)
    if isinstance(condition, GreaterThan | GreaterThanOrEqual):
        return _at_least(wanted, condition.attribute, condition.value)
    if isinstance(condition, LessThan | LessThanOrEqual):
        return _at_most(wanted, condition.attribute, condition.value)
    return wanted


def _among(wanted: Wanted, attribute: tuple[str, ...], values: tuple[Any, ...]) -> Wanted:
    present = [value for value in values if value is not None]
    if attribute == ("topic",):
        return wanted.of_topics(frozenset(present))
    if attribute == ("partition",):
        return wanted.of_partitions(frozenset(present))
    if not present:
        return wanted
    return _at_most(_at_least(wanted, attribute, min(present)), attribute, max(present))


def _at_least(wanted: Wanted, attribute: tuple[str, ...], value: Any) -> Wanted:
    if attribute[0] in OFFSET_COLUMNS and value is not None:
        return wanted.from_offset_on(value)
    if attribute[0] in TIMESTAMP_COLUMNS and isinstance(value, datetime):
        return wanted.from_timestamp_on(_milliseconds(value))
    return wanted


def _at_most(wanted: Wanted, attribute: tuple[str, ...], value: Any) -> Wanted:
    if attribute[0] in OFFSET_COLUMNS and value is not None:
        return wanted.up_to_offset(value + 1)
    if attribute == ("timestamp",) and isinstance(value, datetime):
        return wanted.up_to_timestamp(_milliseconds(value) + 1)
    return wanted


def _milliseconds(moment: datetime) -> int:
    """Rounded down: records have no more."""
    aware = moment if moment.tzinfo else moment.astimezone(UTC)
    return (aware - datetime.fromtimestamp(0, UTC)) // MILLISECOND
