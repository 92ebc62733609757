"""`strandline topic add-partitions`: more partitions for topics."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.config_changes import dry_run_option
from strandline.cli.outcomes import outcome, show_outcomes
from strandline.cli.reports import Column, report_format_option
from strandline.cli.running import run
from strandline.cli.topic_choice import choose_topics, regex_option
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.topics import set_partition_counts

COLUMNS = (
    Column("topic"),
    Column("before", is_number=True),
    Column("after", is_number=True),
    Column("status"),
)


@click.command("add-partitions", cls=ClientCommand, short_help="Give topics more partitions.")
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@regex_option
@click.option("-n", "--num", "added", type=click.IntRange(1), help="How many more.")
@click.option("-p", "--partitions", "total", type=click.IntRange(1), help="How many in all.")
@dry_run_option
@report_format_option
def add_partitions(
    topics: tuple[str, ...],
    regex: bool,
    added: int | None,
    total: int | None,
    dry_run: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Give topics more partitions.

    Keys will go to other partitions than before, and no partition can be taken away again.
    """
    if (added is None) == (total is None):
        raise click.UsageError("say how many more (-n), or how many in all (-p)")

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        chosen = {topic.name: len(topic.partitions) for topic in await choose_topics(cluster, topics, regex=regex)}
        wanted = {name: total or count + (added or 0) for name, count in chosen.items()}
        refusals = await set_partition_counts(cluster, wanted, validate_only=dry_run)
        return [
            {
                "topic": name,
                "before": count,
                "after": count if refusals[name] is not None else wanted[name],
                **outcome(refusals[name], "would be added" if dry_run else "added"),
            }
            for name, count in chosen.items()
        ]

    rows = run(settings, work)
    show_outcomes(output_format, COLUMNS, rows)
