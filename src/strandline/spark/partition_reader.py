"""One task's share of a topic-partition, fetched and decoded into the rows that Spark takes over.

Fetches bring whole batches, so the first and the last may hold records of other tasks: the decoder leaves these out.
What is missing in between is counted, what was lost is told (`data_loss`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pyarrow as pa

from strandline.client.blocking import Blocking
from strandline.client.configs import Resource, ResourceType, describe_configs
from strandline.client.failures import ClientError, NoSuchOffset, NoTopic
from strandline.client.fetched import FetchedPartition
from strandline.client.fetching import Fetcher
from strandline.model.failures import CorruptData
from strandline.spark.arrow_decoding import ArrowDecoder, kafka_rows
from strandline.spark.data_loss import LossReporter, describe_aged_out, describe_cut_off, describe_gone
from strandline.spark.failures import ReadFailed, in_one_sentence
from strandline.spark.offset_gaps import OffsetGaps
from strandline.spark.range_planning import OffsetRange
from strandline.spark.source_options import SourceOptions
from strandline.spark.worker_clients import borrow_client

logger = logging.getLogger("strandline.spark")


def read_range(options: SourceOptions, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    properties = {**options.properties, "auto.offset.reset": "none"}
    with in_one_sentence(), borrow_client(properties) as client:
        yield from RangeReader(options, wanted, client).read()


class RangeReader:
    def __init__(self, options: SourceOptions, wanted: OffsetRange, client: Blocking) -> None:
        self._options = options
        self._wanted = wanted
        self._client = client
        self._position = wanted.from_offset
        self._loss = LossReporter(is_fatal=options.fail_on_data_loss)
        self._decoder = ArrowDecoder(
            include_headers=options.include_headers, verify_crc=client.cluster.settings.check_crcs
        )
        self._gaps = OffsetGaps(wanted.from_offset, wanted.until_offset)

    def read(self) -> Iterator[pa.RecordBatch]:
        while self._position < self._wanted.until_offset:
            try:
                for fetched in self._fetch():
                    yield from self._decode(fetched)
                self._gaps.finish()
                break
            except NoSuchOffset as error:
                self._pass_over(error)
            except NoTopic as error:
                self._loss.report(describe_gone([self._wanted.partition], set()) + f" while it was read ({error})")
                return
        if str(self._gaps):
            logger.info("%s: of its offsets %s to %s, %s", *self._wanted, self._gaps)

    def _fetch(self) -> Iterator[FetchedPartition]:
        """Until the end of the range; an end that compaction left without a record is reached all the same."""
        partition, _, until_offset = self._wanted
        with Fetcher(self._client.cluster, {partition: self._position}, {partition: until_offset}) as fetcher:
            last_progress_s = time.monotonic()
            while fetcher.positions:
                for fetched in self._client(lambda _: fetcher.poll(self._options.poll_timeout_ms)):
                    yield fetched
                    last_progress_s = time.monotonic()
                if (time.monotonic() - last_progress_s) * 1000 > self._options.poll_timeout_ms:
                    raise ReadFailed(
                        f"{partition} gave nothing from offset {self._position} on within"
                        f" kafkaConsumer.pollTimeoutMs={self._options.poll_timeout_ms}; is its leader overloaded?"
                    )

    def _decode(self, fetched: FetchedPartition) -> Iterator[pa.RecordBatch]:
        aborted = None
        if fetched.aborted is not None:
            aborted = [(each.producer_id, each.first_offset) for each in fetched.aborted]
        partition, _, until_offset = self._wanted
        try:
            decoded = self._decoder.decode(
                fetched.records, from_offset=self._position, to_offset=until_offset, aborted=aborted
            )
        except CorruptData as error:
            raise ReadFailed(
                f"{partition} is damaged at or after offset {self._position}: {error};"
                " `strandline log check` finds it in the log files, startingOffsets passes over it"
            ) from None
        rows = sum(len(batch) for batch in decoded.record_batches)
        if rows < min(decoded.next_offset, until_offset) - self._position:
            self._gaps.begin_at(self._position)
            self._gaps.count(fetched.records, aborted)
        self._position = decoded.next_offset
        self._gaps.begin_at(self._position)
        for batch in decoded.record_batches:
            yield kafka_rows(batch, *partition)

    def _pass_over(self, error: NoSuchOffset) -> None:
        """Says what was lost; if that is to be borne, what is left of the range is read."""
        partition, _, until_offset = self._wanted
        if error.offset < error.log_start:
            self._loss.report(
                describe_aged_out(partition, error.offset, error.log_start, self._topic_settings(partition.topic))
            )
            self._position = min(error.log_start, until_offset)
        else:
            self._loss.report(describe_cut_off(partition, error.offset, error.log_end))
            self._position = until_offset
        self._gaps.begin_at(self._position)

    def _topic_settings(self, topic: str) -> dict[str, str]:
        """For a better sentence; without them there is a good one still."""
        try:
            found = self._client(lambda cluster: describe_configs(cluster, Resource(ResourceType.TOPIC, topic)))
        except ClientError:
            return {}
        return {each.name: each.value for each in found if each.value is not None}
