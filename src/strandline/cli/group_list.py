"""`strandline group list`: the groups there are."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.groups import GroupListing, list_groups
from strandline.client.settings import ClientSettings

COLUMNS = (
    Column("group"),
    Column("state"),
    Column("type"),
    Column("protocol", is_wide=True),
    Column("coordinator", is_number=True, is_wide=True),
)


@click.command("list", cls=ClientCommand, short_help="List groups.")
@click.option("--state", "states", multiple=True, help="Only groups in this state: Stable, Empty …; repeatable.")
@report_format_option
def list_all(states: tuple[str, ...], output_format: str, settings: ClientSettings) -> None:
    """List groups.

    Those of every broker, by both protocols.
    """

    async def work(cluster: Cluster) -> list[GroupListing]:
        return await list_groups(cluster, states)

    Report(output_format).rows(
        COLUMNS,
        [
            {
                "group": group.group_id,
                "state": group.state or None,
                "type": group.group_type,
                "protocol": group.protocol_type,
                "coordinator": group.coordinator_id,
            }
            for group in run(settings, work)
        ],
    )
