"""`strandline dlq list`: how many, and why."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.dlq_command import DeadLetterCommand
from strandline.cli.output import iso_time
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.pipeline.dead_letter_headers import origin_of
from strandline.pipeline.redrive import read_letters, sent_before

COLUMNS = (
    Column("count", is_number=True),
    Column("redriven", is_number=True),
    Column("topic", "from"),
    Column("stage"),
    Column("message", "for example"),
    Column("first", is_wide=True),
    Column("last"),
    Column("error", is_wide=True),
)


@click.command("list", cls=DeadLetterCommand, short_help="Count the dead letters of a topic by their reasons.")
@click.argument("topic")
@report_format_option
def list_reasons(topic: str, output_format: str, settings: ClientSettings) -> None:
    """Count the dead letters of a topic by their reasons.

    Letters of Kafka Connect and of Spring are understood as well.
    """
    Report(output_format).rows(COLUMNS, run(settings, lambda cluster: _ask(cluster, topic)))


async def _ask(cluster: Cluster, topic: str) -> list[dict[str, Any]]:
    sent = await sent_before(cluster, topic)
    reasons: dict[Any, dict[str, Any]] = {}
    for record in await read_letters(cluster, topic):
        origin = origin_of(record.headers)
        short = (origin.message or "").partition(": ")[0]
        row = reasons.setdefault(
            (origin.topic, origin.stage, origin.error, short),
            {
                "count": 0,
                "redriven": 0,
                "topic": origin.topic,
                "stage": origin.stage,
                "message": origin.message,
                "error": origin.error,
                "first": iso_time(record.timestamp),
            },
        )
        row["count"] += 1
        row["redriven"] += record.offset in sent[record.partition]
        row["last"] = iso_time(record.timestamp)
    return sorted(reasons.values(), key=lambda row: -row["count"])
