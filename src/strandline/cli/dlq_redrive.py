"""`strandline dlq redrive`: back to where they came from, none twice."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.dlq_command import DeadLetterCommand, is_wanted, letter_row, selecting
from strandline.cli.outcomes import execute_option, say_dry_run
from strandline.cli.output import counted
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.pipeline.redrive import read_letters, redrive, sent_before, target_of

COLUMNS = (
    Column("partition", is_number=True),
    Column("offset", is_number=True),
    Column("from"),
    Column("to"),
    Column("message"),
)


@click.command(
    "redrive", cls=DeadLetterCommand, short_help="Send dead letters back; shows which unless told to --execute."
)
@click.argument("topic")
@selecting
@click.option("--to", metavar="TOPIC", help="To this topic, and not to where each came from.")
@execute_option
@report_format_option
def redrive_letters(
    topic: str, to: str | None, execute: bool, output_format: str, settings: ClientSettings, **chosen: Any
) -> None:
    """Send dead letters back; shows which unless told to --execute.

    A letter goes back as it came, without the headers that tell of the error. One that was sent is not sent again,
    also if this command is cut short and run once more.
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        sent = await sent_before(cluster, topic)
        letters = [
            each
            for each in await read_letters(cluster, topic)
            if is_wanted(each, **chosen) and each.offset not in sent[each.partition]
        ]
        if execute:
            await redrive(cluster, topic, letters, to)
        return [letter_row(each, sent) | {"to": target_of(each, to)} for each in letters]

    rows = run(settings, work)
    Report(output_format).rows(COLUMNS, rows)
    if not execute:
        say_dry_run("sent")
    else:
        click.echo(f"{counted(len(rows), 'letter')} sent.", err=True)
