"""`strandline dlq purge`: letters to delete from the beginning of a dead-letter topic."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.dlq_command import DeadLetterCommand
from strandline.cli.offset_language import OffsetRange
from strandline.cli.offset_option import OffsetPoint
from strandline.cli.offset_positions import resolve
from strandline.cli.outcomes import execute_option, say_dry_run
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.offsets import EARLIEST, LATEST, offsets_at
from strandline.client.settings import ClientSettings
from strandline.client.trimming import delete_records
from strandline.pipeline.redrive import read_letters, sent_before

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("before", "deleted before", is_number=True),
    Column("letters", is_number=True),
    Column("lost", "not redriven", is_number=True),
)


@click.command(cls=DeadLetterCommand, short_help="Delete dead letters; shows which unless told to --execute.")
@click.argument("topic")
@click.option("--before", type=OffsetPoint(), help="All before: 1000, @-7d, end. Otherwise those that were redriven.")
@execute_option
@report_format_option
def purge(topic: str, before: OffsetRange | None, execute: bool, output_format: str, settings: ClientSettings) -> None:
    """Delete dead letters; shows which unless told to --execute.

    Without --before, those go that were redriven, up to the first that was not. A log can only be shortened at its
    beginning.
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        sent = await sent_before(cluster, topic)
        letters = await read_letters(cluster, topic)
        firsts, ends = await offsets_at(cluster, sent, EARLIEST), await offsets_at(cluster, sent, LATEST)
        limits = {each: min(max(known.first_open, firsts[each]), ends[each]) for each, known in sent.items()}
        if before is not None:
            limits, _ = await resolve(cluster, sorted(sent), before, lambda _: None)
        rows = []
        for partition, limit in sorted(limits.items()):
            going = [each for each in letters if each.partition == partition and each.offset < limit]
            lost = sum(each.offset not in sent[partition] for each in going)
            rows.append(
                {
                    "topic": topic,
                    "partition": partition.partition,
                    "before": limit,
                    "letters": len(going),
                    "lost": lost,
                }
            )
        if execute:
            await delete_records(cluster, limits)
        return rows

    Report(output_format).rows(COLUMNS, run(settings, work))
    if not execute:
        say_dry_run("deleted")
