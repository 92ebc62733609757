"""`strandline topic trim`: records to delete from the beginning of partitions (SPEC C4)."""

from __future__ import annotations

import json
from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.consuming import choose_partitions
from strandline.cli.offset_language import OffsetRange
from strandline.cli.offset_option import OffsetPoint
from strandline.cli.offset_positions import Offsets, resolve
from strandline.cli.outcomes import execute_option, say_dry_run
from strandline.cli.partition_list import PartitionList
from strandline.cli.partition_rows import offsets_of
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.trimming import TO_HIGH_WATERMARK, delete_records
from strandline.model.partitions import TopicPartition

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("start", "start before", is_number=True),
    Column("new_start", "start after", is_number=True),
    Column("deleted", "records", is_number=True),
    Column("high_watermark", "high watermark", is_number=True, is_wide=True),
)


@click.command(cls=ClientCommand, short_help="Delete the oldest records; shows which unless told to --execute.")
@click.argument("topics", nargs=-1, metavar="[TOPIC]...")
@click.option("--before", type=OffsetPoint(), help="Delete what lies before: 1000, @-7d, @2026-11-15, -1000, end.")
@click.option("-p", "--partitions", type=PartitionList(), help="Only these partitions.")
@click.option("--offset-json-file", "file", type=click.File("rb"), help="Offsets as `kafka-delete-records` reads them.")
@execute_option
@report_format_option
def trim(
    topics: tuple[str, ...],
    before: OffsetRange | None,
    partitions: tuple[int, ...] | None,
    file: Any,
    execute: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Delete the oldest records; shows which unless told to --execute.

    \b
    strandline topic trim orders --before @-7d            # older than a week
    strandline topic trim orders --before -1000           # all but the last thousand of each partition
    """
    if (file is None) == (before is None) or (file is None) == (not topics):
        raise click.UsageError("give topics and --before, or --offset-json-file alone")
    offsets = None if file is None else _read_offsets(file.read())

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        limits = offsets
        if before is not None:
            chosen = await choose_partitions(cluster, topics, partitions)
            limits, _ = await resolve(cluster, chosen, before, _note)
        assert limits is not None
        known = await offsets_of(cluster, limits)
        starts = await delete_records(cluster, limits) if execute else limits
        return [_row(partition, known[partition], starts[partition]) for partition in sorted(limits)]

    Report(output_format).rows(COLUMNS, run(settings, work))
    if not execute:
        say_dry_run("deleted")


def _note(text: str) -> None:
    click.echo(f"strandline: {text}", err=True)


def _row(partition: TopicPartition, offsets: dict[str, Any], limit: int) -> dict[str, Any]:
    start, high_watermark = offsets["start"] or 0, offsets["high_watermark"] or 0
    new_start = high_watermark if limit == TO_HIGH_WATERMARK else max(start, limit)
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "start": start,
        "new_start": new_start,
        "deleted": new_start - start,
        "high_watermark": high_watermark,
    }


def _read_offsets(data: bytes) -> Offsets:
    """{"partitions": [{"topic": "orders", "partition": 0, "offset": 10}], "version": 1}; -1 is the high watermark."""
    try:
        entries = json.loads(data)["partitions"]
        return {TopicPartition(str(entry["topic"]), int(entry["partition"])): int(entry["offset"]) for entry in entries}
    except (ValueError, TypeError, KeyError) as error:
        raise click.UsageError(f"--offset-json-file is not what kafka-delete-records reads: {error!r}") from None
