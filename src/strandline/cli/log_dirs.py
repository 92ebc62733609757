"""`strandline log-dirs`: where replicas lie, and how large they are."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.output import size_text
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.cli.topic_choice import choose_topics, regex_option
from strandline.client.cluster import Cluster
from strandline.client.log_directories import ReplicaSize, describe_log_directories
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("broker", is_number=True),
    Column("size", is_number=True),
    Column("lag", is_number=True, is_wide=True),
    Column("is_future", "being moved here", is_wide=True),
    Column("directory"),
)


@click.command("log-dirs", cls=ClientCommand, short_help="Show where replicas lie, and how large they are.")
@click.argument("topics", nargs=-1, metavar="[TOPIC]...")
@regex_option
@click.option("-i", "--internal", is_flag=True, help="Internal topics too.")
@click.option("--broker", "broker_id", type=int, metavar="ID", help="Only what this broker holds.")
@report_format_option
def log_dirs(
    topics: tuple[str, ...],
    regex: bool,
    internal: bool,
    broker_id: int | None,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Show where replicas lie, and how large they are.

    Of all topics, those that are named, or those that match. Lag is how far a replica is behind the high watermark.
    """

    async def work(cluster: Cluster) -> list[ReplicaSize]:
        chosen = await choose_topics(cluster, topics, regex=regex, internal=internal)
        places = [TopicPartition(topic.name, index) for topic in chosen for index in topic.partitions]
        return await describe_log_directories(cluster, places)

    rows = [_row(each) for each in run(settings, work) if broker_id in (None, each.broker_id)]
    Report(output_format).rows(COLUMNS, rows)


def _row(replica: ReplicaSize) -> dict[str, Any]:
    return {
        "topic": replica.partition.topic,
        "partition": replica.partition.partition,
        "broker": replica.broker_id,
        "size": size_text(replica.size_bytes),
        "size_bytes": replica.size_bytes,
        "lag": replica.offset_lag,
        "is_future": replica.is_future,
        "directory": replica.directory,
    }
