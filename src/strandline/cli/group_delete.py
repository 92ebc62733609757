"""`strandline group delete`: groups with their committed offsets."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.outcomes import execute_option, outcome, show_outcomes
from strandline.cli.reports import Column, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused
from strandline.client.group_offsets import committed_offsets
from strandline.client.groups import delete_group, describe_group
from strandline.client.settings import ClientSettings
from strandline.model.error_codes import ErrorCode

COLUMNS = (
    Column("group"),
    Column("state"),
    Column("offsets", "committed offsets", is_number=True),
    Column("status"),
)


@click.command(cls=ClientCommand, short_help="Delete groups; shows what would go unless told to --execute.")
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...")
@execute_option
@report_format_option
def delete(groups: tuple[str, ...], execute: bool, output_format: str, settings: ClientSettings) -> None:
    """Delete groups; shows what would go unless told to --execute.

    A group with members cannot be deleted.
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        return [await _delete(cluster, group_id, execute) for group_id in groups]

    rows = run(settings, work)
    show_outcomes(output_format, COLUMNS, rows, not_done=None if execute else "deleted")


async def _delete(cluster: Cluster, group_id: str, execute: bool) -> dict[str, Any]:
    view = await describe_group(cluster, group_id)
    offsets = await committed_offsets(cluster, group_id)
    refusal = BrokerRefused(ErrorCode.NON_EMPTY_GROUP, f"group {group_id}") if view.members else None
    if execute:
        try:
            await delete_group(cluster, group_id)
        except BrokerRefused as error:
            refusal = error
    return {
        "group": group_id,
        "state": view.state,
        "offsets": len(offsets),
        **outcome(refusal, "deleted" if execute else "would be deleted"),
    }
