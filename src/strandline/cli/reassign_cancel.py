"""`strandline reassign cancel`: replicas that are on the move stay where they were."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.outcomes import execute_option, exit_if_refused, outcome, say_dry_run
from strandline.cli.partition_names import choose_partitions
from strandline.cli.reassignment_rows import PLAN_COLUMNS, plan_row
from strandline.cli.replication_throttles import end_throttles
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.reassignments import Refusals, list_moves, reassign
from strandline.client.settings import ClientSettings


@click.command(cls=ClientCommand, short_help="Take moves back; shows which unless told to --execute.")
@click.argument("partitions", nargs=-1, metavar="[TOPIC[/PARTITION]...]")
@execute_option
@report_format_option
def cancel(partitions: tuple[str, ...], execute: bool, output_format: str, settings: ClientSettings) -> None:
    """Take moves back; shows which unless told to --execute.

    All that are under way, or those named. When none is left, throttles are lifted.
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        chosen = list(await choose_partitions(cluster, partitions))
        moves = await list_moves(cluster, chosen if partitions else None)
        refusals: Refusals = {}
        if execute and moves:
            refusals = await reassign(cluster, dict.fromkeys(moves))
            if not await list_moves(cluster):
                await end_throttles(cluster, {name.topic for name in moves})
        return [
            {
                **plan_row(name, move.target, move.origin),
                **outcome(refusals.get(name), "cancelled" if execute else "would be cancelled"),
            }
            for name, move in sorted(moves.items())
        ]

    rows = run(settings, work)
    Report(output_format).rows(PLAN_COLUMNS, rows)
    if not rows:
        click.echo("Nothing is on the move.", err=True)
    elif not execute:
        say_dry_run("cancelled")
    exit_if_refused(rows)
