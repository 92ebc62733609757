"""`strandline topic alter`: settings of topics."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand, SettingAssignment
from strandline.cli.config_changes import CHANGE_COLUMNS, change_configs, changes_of, dry_run_option
from strandline.cli.outcomes import show_outcomes
from strandline.cli.reports import report_format_option
from strandline.cli.running import run
from strandline.cli.topic_choice import choose_topics, regex_option
from strandline.client.cluster import Cluster
from strandline.client.configs import Resource, ResourceType
from strandline.client.settings import ClientSettings


@click.command(cls=ClientCommand, short_help="Change settings of topics.")
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@regex_option
@click.option("-c", "--config", "configs", multiple=True, type=SettingAssignment(), help="A setting; repeatable.")
@click.option("--unset", multiple=True, metavar="NAME", help="A setting that shall have its default; repeatable.")
@dry_run_option
@report_format_option
def alter(
    topics: tuple[str, ...],
    regex: bool,
    configs: tuple[tuple[str, str], ...],
    unset: tuple[str, ...],
    dry_run: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Change settings of topics.

    \b
    strandline topic alter orders -c retention.ms=3600000 --unset cleanup.policy

    Several settings of a topic are changed together or not at all.
    """
    changes = changes_of(configs, unset)

    async def work(cluster: Cluster) -> list[dict[str, object]]:
        chosen = await choose_topics(cluster, topics, regex=regex)
        resources = [Resource(ResourceType.TOPIC, topic.name) for topic in chosen]
        return [row for each in resources for row in await change_configs(cluster, each, changes, dry_run=dry_run)]

    rows = run(settings, work)
    show_outcomes(output_format, CHANGE_COLUMNS, rows)
