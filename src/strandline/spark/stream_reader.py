"""`spark.readStream.format("strandline")`: micro-batches, each from where the last one ended.

Spark calls in this order, on the driver: `initialOffset` once in a query's life; before each batch `latestOffset` with
the end of the last batch that is done; `partitions` for what the batch reads; `commit` with the end of a batch, but
only while the next is planned. So the end of the last batch is committed to the group in `latestOffset`, too: whoever
looks at the group's lag sees it as soon as Spark looks for more.

Spark asks for the initial offset anew whenever it plans the first batch, also after a crash, and keeps only the end of
a batch. Where the answer would have moved in the meantime (`latest`, times), records would be passed over. So the first
batch of such a query is empty and ends where the query begins: from then on that is in the checkpoint.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from strandline.client.failures import ClientError
from strandline.spark.data_loss import LossReporter
from strandline.spark.failures import in_one_sentence
from strandline.spark.micro_batches import check_checkpoint, new_beginnings, ranges_between, report_gone
from strandline.spark.offset_limits import moves
from strandline.spark.offsets_json import OffsetsOfTopics, PartitionOffsets, from_topics, to_topics
from strandline.spark.partition_reader import read_range
from strandline.spark.range_planning import plan_ranges
from strandline.spark.rate_limits import EnoughOffsets, limit_offsets
from strandline.spark.source_options import SourceOptions
from strandline.spark.topic_offsets import TopicOffsets

logger = logging.getLogger("strandline.spark")


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._topic_offsets = TopicOffsets(options)
        self._loss = LossReporter(is_fatal=options.fail_on_data_loss)
        self._enough = EnoughOffsets(options.min_offsets_per_trigger or 0, options.max_trigger_delay_ms)
        self._is_available_now = False
        self._fixed_ends: PartitionOffsets | None = None  # of a query that reads what is available now
        self._initial: OffsetsOfTopics | None = None  # of a query whose first batch is not done
        self._is_begun = False
        self._latest: PartitionOffsets | None = None
        self._committed: PartitionOffsets | None = None

    def initialOffset(self) -> OffsetsOfTopics:
        with in_one_sentence():
            if self._initial is None:
                self._initial = to_topics(self._topic_offsets.resolve(self._options.starting, is_start=True))
            return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:
        """Spark has no limit of two sides for Python; a maximum beside a minimum is kept here."""
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._is_available_now = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        with in_one_sentence():
            done = check_checkpoint(start)
            self._topic_offsets.remember_topics(start)
            self._commit_to_group(done)
            until = self._latest = self._ends(done)
            if self._begins_empty():
                return start
            report_gone(self._topic_offsets, self._options.subscription, done, until, self._loss)
            if not until:
                return start
            begin = done | new_beginnings(self._topic_offsets, done, until, self._loss)
            until = {partition: end for partition, end in until.items() if partition in begin}
            return to_topics(self._limited(limit, begin, until, done))

    def _begins_empty(self) -> bool:
        """Whether this is the first batch of a query that begins somewhere else each time that it is asked."""
        is_first, self._is_begun = self._initial is not None and not self._is_begun, True
        return is_first and moves(self._options.starting)

    def _ends(self, done: PartitionOffsets) -> PartitionOffsets:
        if not self._is_available_now:
            return self._topic_offsets.latest(done)
        if self._fixed_ends is None:
            self._fixed_ends = self._topic_offsets.latest(done)
        return self._fixed_ends

    def _limited(
        self, limit: ReadLimit, begin: PartitionOffsets, until: PartitionOffsets, done: PartitionOffsets
    ) -> PartitionOffsets:
        may_wait = isinstance(limit, ReadMinRows) and not self._is_available_now
        if may_wait and not self._enough.is_enough(begin, until, time.monotonic_ns() // 1_000_000):
            return done
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._options.max_offsets_per_trigger
        if most is None or isinstance(limit, ReadAllAvailable):
            return until
        return limit_offsets(most, begin, until)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Where the topics ended when last looked at: Spark's progress shows it beside the end of the batch."""
        return None if self._latest is None else to_topics(self._latest)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        with in_one_sentence():
            if start == self._initial and self._latest is None and self._begins_empty():
                return []  # the first batch, planned again after a crash
            self._topic_offsets.remember_topics(start)
            ranges = ranges_between(
                self._topic_offsets, self._options.subscription, check_checkpoint(start), from_topics(end), self._loss
            )
            planned = plan_ranges(
                ranges,
                min_partitions=self._options.min_partitions,
                max_records_per_partition=self._options.max_records_per_partition,
            )
            return [InputPartition(each) for each in planned]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._options, partition.value)

    def commit(self, end: dict[str, Any]) -> None:
        self._commit_to_group(from_topics(end))

    def stop(self) -> None:
        self._topic_offsets.close()

    def _commit_to_group(self, offsets: PartitionOffsets) -> None:
        """For those who look at lag. The truth is in Spark's checkpoint, so that a failure here ends no query."""
        if not self._options.group_id or offsets == self._committed:
            return
        try:
            self._topic_offsets.commit(self._options.group_id, offsets)
            self._committed = offsets
        except ClientError as error:
            logger.warning("progress is not committed to group %s: %s", self._options.group_id, error)
