"""`strandline config set`: settings to change."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand, SettingAssignment
from strandline.cli.config_changes import CHANGE_COLUMNS, change_configs, changes_of, dry_run_option
from strandline.cli.config_entity import entity_option, hint_at_brokers, resource_of
from strandline.cli.outcomes import exit_if_refused
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings


@click.command("set", cls=ClientCommand, short_help="Change settings.")
@click.argument("name")
@click.argument("assignments_to_make", nargs=-1, required=True, type=SettingAssignment(), metavar="SETTING=VALUE...")
@entity_option
@dry_run_option
@report_format_option
def set_configs(
    name: str,
    assignments_to_make: tuple[tuple[str, str], ...],
    entity: str,
    dry_run: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Change settings.

    All of them or none.

    \b
    strandline config set orders retention.ms=3600000 cleanup.policy=compact
    strandline config set --entity broker all log.retention.ms=86400000
    """
    resource = resource_of(entity, name)
    changes = changes_of(assignments_to_make, ())

    async def work(cluster: Cluster) -> list[dict[str, object]]:
        return await change_configs(cluster, resource, changes, dry_run=dry_run)

    with hint_at_brokers(resource):
        rows = run(settings, work)
    Report(output_format).rows(CHANGE_COLUMNS, rows)
    exit_if_refused(rows)
