"""`strandline config set`: settings to change."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand, SettingAssignment
from strandline.cli.config_changes import change_entity, changes_of, dry_run_option
from strandline.cli.config_entity import entity_option, resource_of
from strandline.cli.reports import report_format_option
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
    change_entity(
        resource_of(entity, name), changes_of(assignments_to_make, ()), settings, output_format, dry_run=dry_run
    )
