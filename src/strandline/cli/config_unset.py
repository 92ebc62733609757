"""`strandline config unset`: settings that shall have their default again."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.config_changes import change_entity, changes_of, dry_run_option
from strandline.cli.config_entity import entity_option, resource_of
from strandline.cli.reports import report_format_option
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
    change_entity(resource_of(entity, name), changes_of((), keys), settings, output_format, dry_run=dry_run)
