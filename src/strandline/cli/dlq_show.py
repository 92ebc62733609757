"""`strandline dlq show`."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.dlq_command import DeadLetterCommand, is_wanted, letter_row, selecting
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.pipeline.redrive import read_letters, sent_before

COLUMNS = (
    Column("partition", is_number=True),
    Column("offset", is_number=True),
    Column("from"),
    Column("redriven"),
    Column("message"),
    Column("value"),
    Column("key", is_wide=True),
    Column("stage", is_wide=True),
    Column("time", is_wide=True),
)


@click.command(cls=DeadLetterCommand, short_help="Show dead letters: where they came from, and why they are here.")
@click.argument("topic")
@selecting
@click.option("-n", "--count", type=click.IntRange(1), default=20, show_default=True, help="At most so many.")
@report_format_option
def show(topic: str, count: int, output_format: str, settings: ClientSettings, **chosen: Any) -> None:
    """Show dead letters: where they came from, and why they are here."""

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        sent = await sent_before(cluster, topic)
        letters = [each for each in await read_letters(cluster, topic) if is_wanted(each, **chosen)]
        return [letter_row(each, sent) for each in letters[:count]]

    report = Report(output_format)
    rows = run(settings, work)
    report.rows(COLUMNS, map(_for_a_table, rows) if report.is_text else rows)


def _for_a_table(row: dict[str, Any]) -> dict[str, Any]:
    """Where what is no text must not look as if there was nothing."""
    shown = {name: f"{row[f'{name}_base64']} (base64)" for name in ("key", "value") if f"{name}_base64" in row}
    return {**row, **shown}
