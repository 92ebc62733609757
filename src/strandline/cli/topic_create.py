"""`strandline topic create`: new topics."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand, SettingAssignment
from strandline.cli.outcomes import outcome, show_outcomes
from strandline.cli.reports import Column, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.topics import BROKERS_DEFAULT, CreatedTopic, NewTopic, create_topics
from strandline.model.error_codes import ErrorCode

COLUMNS = (
    Column("topic"),
    Column("partitions", is_number=True, is_wide=True),
    Column("replicas", is_number=True, is_wide=True),
    Column("status"),
)


@click.command(cls=ClientCommand, short_help="Create topics.")
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@click.option("-p", "--partitions", type=click.IntRange(1), help="Number of partitions.  [default: the brokers']")
@click.option("-r", "--replicas", type=click.IntRange(1, 32767), help="Replicas of each.  [default: the brokers']")
@click.option("-c", "--config", "configs", multiple=True, type=SettingAssignment(), help="A setting; repeatable.")
@click.option("--if-not-exists", is_flag=True, help="A topic that exists already is no failure.")
@click.option("--dry-run", is_flag=True, help="Ask the brokers whether they would, and create nothing.")
@report_format_option
def create(
    topics: tuple[str, ...],
    partitions: int | None,
    replicas: int | None,
    configs: tuple[tuple[str, str], ...],
    if_not_exists: bool,
    dry_run: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Create topics.

    \b
    strandline topic create orders -p 6 -c retention.ms=3600000
    """
    new = [NewTopic(name, partitions or BROKERS_DEFAULT, replicas or BROKERS_DEFAULT, dict(configs)) for name in topics]

    async def work(cluster: Cluster) -> list[CreatedTopic]:
        return await create_topics(cluster, new, validate_only=dry_run)

    created = run(settings, work)
    rows = [_row(each, if_not_exists=if_not_exists, dry_run=dry_run) for each in created]
    show_outcomes(output_format, COLUMNS, rows)


def _row(topic: CreatedTopic, *, if_not_exists: bool, dry_run: bool) -> dict[str, Any]:
    refusal = topic.refusal
    done = "would be created" if dry_run else "created"
    if if_not_exists and refusal is not None and refusal.error_code == ErrorCode.TOPIC_ALREADY_EXISTS:
        refusal, done = None, "exists already"
    return {
        "topic": topic.name,
        "partitions": None if topic.partitions < 0 else topic.partitions,
        "replicas": None if topic.replication_factor < 0 else topic.replication_factor,
        **outcome(refusal, done),
    }
