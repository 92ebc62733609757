"""`spark.read.format("strandline")`: from one set of offsets to another, both fixed when the query is planned."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from strandline.spark.data_loss import LossReporter
from strandline.spark.failures import ReadFailed, in_one_sentence
from strandline.spark.offset_limits import EachAt
from strandline.spark.offsets_json import PartitionOffsets
from strandline.spark.partition_reader import read_range
from strandline.spark.range_planning import OffsetRange, plan_ranges
from strandline.spark.source_options import SourceOptions
from strandline.spark.topic_offsets import TopicOffsets


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        with in_one_sentence():
            topic_offsets = TopicOffsets(self._options)
            try:
                return [InputPartition(each) for each in self._plan(topic_offsets)]
            finally:
                topic_offsets.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Spark makes up a partition without a range where there is nothing to read."""
        if partition.value is not None:
            yield from read_range(self._options, partition.value)

    def _plan(self, topic_offsets: TopicOffsets) -> list[OffsetRange]:
        starts = topic_offsets.resolve(self._options.starting, is_start=True)
        ends = topic_offsets.resolve(self._options.ending, is_start=False)
        if isinstance(self._options.ending, EachAt):
            self._check_ends(ends, topic_offsets.latest())
        self._check_order(starts, ends)
        ranges = [OffsetRange(partition, starts[partition], ends[partition]) for partition in sorted(starts)]
        return plan_ranges(
            ranges,
            min_partitions=self._options.min_partitions,
            max_records_per_partition=self._options.max_records_per_partition,
        )

    def _check_order(self, starts: PartitionOffsets, ends: PartitionOffsets) -> None:
        """What was given is in order, as far as it names offsets; what it stands for may still not be."""
        for partition, start in starts.items():
            if start > ends[partition] and self._options.fail_on_data_loss:
                raise ReadFailed(
                    f"The resolved start offset {start} is greater than the resolved end offset {ends[partition]} for"
                    f" topic {partition.topic} partition {partition.partition}: begin earlier, or end later"
                )

    def _check_ends(self, ends: PartitionOffsets, latest: PartitionOffsets) -> None:
        """Nobody should wait for records that a batch query cannot live to see."""
        loss = LossReporter(is_fatal=self._options.fail_on_data_loss)
        for partition, end in ends.items():
            if end > latest[partition]:
                loss.report(f"{partition} ends at offset {latest[partition]}, and endingOffsets asks for {end}")
                ends[partition] = latest[partition]
