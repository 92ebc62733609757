"""`strandline config unset`: settings that shall have their default again."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.config_changes import CHANGE_COLUMNS, change_configs, changes_of, dry_run_option
from strandline.cli.config_entity import entity_option, hint_at_brokers, resource_of
from strandline.cli.outcomes import exit_if_refused
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings


@click.command(cls=ClientCommand, short_help="Give settings their defaults again.")
@click.argument("name")
@click.argument("keys", nargs=-1, required=True, metavar="SETTING...")
@entity_option
@dry_run_option
@report_format_option
def unset(
    name: str, keys: tuple[str, ...], entity: str, dry_run: bool, output_format: str, settings: ClientSettings
) -> None:
    """Give settings their defaults again.

    All of them or none.
    """
    resource = resource_of(entity, name)
    changes = changes_of((), keys)

    async def work(cluster: Cluster) -> list[dict[str, object]]:
        return await change_configs(cluster, resource, changes, dry_run=dry_run)

    with hint_at_brokers(resource):
        rows = run(settings, work)
    Report(output_format).rows(CHANGE_COLUMNS, rows)
    exit_if_refused(rows)
