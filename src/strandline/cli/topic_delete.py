"""`strandline topic delete`: topics with all their records."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.outcomes import execute_option, outcome, show_outcomes
from strandline.cli.partition_rows import offsets_of, record_count
from strandline.cli.reports import Column, report_format_option
from strandline.cli.running import run
from strandline.cli.topic_choice import choose_topics, regex_option
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.topics import delete_topics
from strandline.model.partitions import TopicPartition

COLUMNS = (
    Column("topic"),
    Column("partitions", is_number=True),
    Column("records", is_number=True),
    Column("status"),
)


@click.command(cls=ClientCommand, short_help="Delete topics; shows what would go unless told to --execute.")
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@regex_option
@execute_option
@report_format_option
def delete(topics: tuple[str, ...], regex: bool, execute: bool, output_format: str, settings: ClientSettings) -> None:
    """Delete topics; shows what would go unless told to --execute.

    A name that is none stops everything before anything is deleted.
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        chosen = await choose_topics(cluster, topics, regex=regex)
        places = [TopicPartition(topic.name, index) for topic in chosen for index in topic.partitions]
        counts = {place: record_count(offsets) or 0 for place, offsets in (await offsets_of(cluster, places)).items()}
        refusals = await delete_topics(cluster, [topic.name for topic in chosen]) if execute else {}
        return [
            {
                "topic": topic.name,
                "partitions": len(topic.partitions),
                "records": sum(count for place, count in counts.items() if place.topic == topic.name),
                **outcome(refusals.get(topic.name), "deleted" if execute else "would be deleted"),
            }
            for topic in chosen
        ]

    rows = run(settings, work)
    show_outcomes(output_format, COLUMNS, rows, not_done=None if execute else "deleted")
