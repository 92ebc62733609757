"""`strandline reassign status`: what is on the move, and how far it is."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.partition_names import choose_partitions
from strandline.cli.reassignment_rows import copied_bytes, wait_until_moved
from strandline.cli.replication_throttles import end_throttles
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.reassignments import Move, list_moves
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("before"),
    Column("after"),
    Column("adding"),
    Column("removing"),
    Column("copied_bytes", "copied", is_number=True),
    Column("of_bytes", "of", is_number=True),
)


@click.command(cls=ClientCommand, short_help="List the replicas that are on the move.")
@click.argument("partitions", nargs=-1, metavar="[TOPIC[/PARTITION]...]")
@click.option("--wait", is_flag=True, help="Until none is, with a bar; then lift the throttles.")
@report_format_option
def status(partitions: tuple[str, ...], wait: bool, output_format: str, settings: ClientSettings) -> None:
    """List the replicas that are on the move."""

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        chosen = list(await choose_partitions(cluster, partitions))
        moves = await list_moves(cluster, chosen if partitions else None)
        copied = await copied_bytes(cluster, moves) if moves else {}
        rows = [_row(name, move, copied[name]) for name, move in sorted(moves.items())]
        if wait:
            await wait_until_moved(cluster, chosen)
            if not await list_moves(cluster):
                await end_throttles(cluster, {name.topic for name in chosen})
        return rows

    rows = run(settings, work)
    Report(output_format).rows(COLUMNS, rows)
    if not rows:
        click.echo("Nothing is on the move.", err=True)


def _row(name: TopicPartition, move: Move, copied: tuple[int, int]) -> dict[str, Any]:
    return {
        "topic": name.topic,
        "partition": name.partition,
        "before": list(move.origin),
        "after": list(move.target),
        "adding": list(move.adding),
        "removing": list(move.removing),
        "copied_bytes": copied[0],
        "of_bytes": copied[1],
    }
