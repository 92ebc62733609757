"""`strandline bench consume`: what `kafka-consumer-perf-test` measures, with our own fetcher."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click

from strandline.cli.bench_options import json_or_text_option
from strandline.cli.client_options import ClientCommand
from strandline.cli.consuming import choose_partitions
from strandline.cli.latencies import MEGABYTE
from strandline.cli.offset_language import START, OffsetRange
from strandline.cli.offset_positions import resolve
from strandline.cli.output import Output, counted
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.fetched import FetchedPartition
from strandline.client.fetching import Fetcher
from strandline.client.settings import ClientSettings
from strandline.records.batch import read_head

HEADING = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec,"
    " rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)


class Consumed(NamedTuple):
    record_count: int
    size_bytes: int
    start_s: float  # since 1970
    end_s: float
    prepared_s: float  # what it took until the first fetch

    @property
    def elapsed_s(self) -> float:
        return max(self.end_s - self.start_s, 1e-9)

    @property
    def fetch_s(self) -> float:
        return max(self.elapsed_s - self.prepared_s, 1e-9)

    def __str__(self) -> str:
        megabytes = self.size_bytes / MEGABYTE
        return (
            f"{_moment(self.start_s)}, {_moment(self.end_s)}, {megabytes:.4f}, {megabytes / self.elapsed_s:.4f},"
            f" {self.record_count}, {self.record_count / self.elapsed_s:.4f}, {self.prepared_s * 1000:.0f},"
            f" {self.fetch_s * 1000:.0f}, {megabytes / self.fetch_s:.4f}, {self.record_count / self.fetch_s:.4f}"
        )

    def as_values(self) -> dict[str, Any]:
        return {
            "records": self.record_count,
            "bytes": self.size_bytes,
            "seconds": round(self.elapsed_s, 3),
            "records_per_second": round(self.record_count / self.elapsed_s, 1),
            "megabytes_per_second": round(self.size_bytes / MEGABYTE / self.elapsed_s, 2),
            "fetch_seconds": round(self.fetch_s, 3),
        }


@click.command(cls=ClientCommand, short_help="Read records, and say how fast.")
@click.argument("topic")
@click.option("-n", "--messages", "count_max", type=click.IntRange(1), help="At most so many.  [default: all]")
@click.option("--raw", is_flag=True, help="Count by the heads of batches: measures the broker, not Python's decoding.")
@json_or_text_option
def consume(topic: str, count_max: int | None, raw: bool, output_format: str, settings: ClientSettings) -> None:
    """Read records, and say how fast.

    The line is that of kafka-consumer-perf-test; its rebalance time is the time that it took to find out where to
    begin. Sizes are those of keys and values, of whole batches with --raw.
    """

    async def work(cluster: Cluster) -> Consumed:
        return await measure(cluster, topic, count_max, raw=raw)

    consumed = run(settings, work)
    output = Output(output_format)
    if output.is_json:
        output.object(consumed.as_values())
        return
    output.line(HEADING)
    output.line(str(consumed))
    if count_max is not None and consumed.record_count < count_max:
        output.note(f"strandline: {topic} holds {counted(consumed.record_count, 'record')}, fewer than asked for")


async def measure(cluster: Cluster, topic: str, count_max: int | None, *, raw: bool) -> Consumed:
    start_s, begin = time.time(), time.perf_counter()
    partitions = await choose_partitions(cluster, [topic], None)
    starts, ends = await resolve(cluster, partitions, OffsetRange(START).until_present_end(), lambda _: None)
    prepared_s = time.perf_counter() - begin
    record_count = size_bytes = 0
    with Fetcher(cluster, starts, ends) as fetcher:
        while fetcher.positions and (count_max is None or record_count < count_max):
            for fetched in await fetcher.poll():
                records, read_bytes = _count_raw(fetched) if raw else _count(fetched)
                record_count += records
                size_bytes += read_bytes
    return Consumed(record_count, size_bytes, start_s, start_s + time.perf_counter() - begin, prepared_s)


def _count(fetched: FetchedPartition) -> tuple[int, int]:
    record_count = size_bytes = 0
    for record in fetched.read():
        record_count += 1
        size_bytes += len(record.key or b"") + len(record.value or b"")
    return record_count, size_bytes


def _count_raw(fetched: FetchedPartition) -> tuple[int, int]:
    return sum(read_head(batch).record_count for batch in fetched.batches()), fetched.size_bytes


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}:{moment.microsecond // 1000:03}"
