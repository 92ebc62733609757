"""`strandline topic list`: the topics there are."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.cli.topic_choice import choose_topics, regex_option
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.view import TopicView
from strandline.model.ids import encode_id

COLUMNS = (
    Column("topic"),
    Column("partitions", is_number=True),
    Column("replicas", is_number=True),
    Column("topic_id", "id", is_wide=True),
    Column("is_internal", "internal", is_wide=True),
    Column("under_replicated", "under-replicated", is_number=True, is_wide=True),
    Column("offline", "without leader", is_number=True, is_wide=True),
)


@click.command("list", cls=ClientCommand, short_help="List topics.")
@click.argument("topics", nargs=-1, metavar="[TOPIC]...")
@regex_option
@click.option("-i", "--internal", is_flag=True, help="Internal topics too.")
@report_format_option
def list_topics(
    topics: tuple[str, ...], regex: bool, internal: bool, output_format: str, settings: ClientSettings
) -> None:
    """List topics.

    All of them, those that are named, or those that match.
    """
    report = Report(output_format)

    async def work(cluster: Cluster) -> list[TopicView]:
        return await choose_topics(cluster, topics, regex=regex, internal=internal)

    report.rows(COLUMNS, [topic_row(topic) for topic in run(settings, work)])


def topic_row(topic: TopicView) -> dict[str, Any]:
    partitions = topic.partitions.values()
    return {
        "topic": topic.name,
        "partitions": len(partitions),
        "replicas": max((len(each.replicas) for each in partitions), default=0),
        "topic_id": encode_topic_id(topic.topic_id),
        "is_internal": topic.is_internal,
        "under_replicated": sum(each.is_under_replicated for each in partitions),
        "offline": sum(not each.has_leader for each in partitions),
    }


def encode_topic_id(topic_id: bytes) -> str | None:
    from uuid import UUID  # takes longer to import than this command otherwise

    return encode_id(UUID(bytes=topic_id)) if any(topic_id) else None
