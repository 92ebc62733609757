"""`strandline cluster partitions`: every partition, who leads and who holds it."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.partition_rows import PARTITION_COLUMNS, min_in_sync_of, partition_row
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings


@click.command(cls=ClientCommand, short_help="List all partitions, who leads and who holds them.")
@click.option("--broker", "broker_id", type=int, metavar="ID", help="Only those that this broker holds.")
@click.option("--leader", "leader_id", type=int, metavar="ID", help="Only those that this broker leads.")
@click.option("--problems", is_flag=True, help="Only those with a problem.")
@report_format_option
def partitions(
    broker_id: int | None, leader_id: int | None, problems: bool, output_format: str, settings: ClientSettings
) -> None:
    """List all partitions, who leads and who holds them."""

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        view = await cluster.refresh(None)
        minimums = await min_in_sync_of(cluster, list(view.topics.values()))
        return [
            partition_row(name, partition, minimums[name])
            for name, topic in sorted(view.topics.items())
            for partition in topic.partitions.values()
        ]

    rows = [
        row
        for row in run(settings, work)
        if (broker_id is None or broker_id in row["replicas"])
        and (leader_id is None or leader_id == row["leader"])
        and (not problems or row["problem"])
    ]
    Report(output_format).rows(PARTITION_COLUMNS, rows)
