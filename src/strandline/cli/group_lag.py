"""`strandline group lag`: how far behind groups are, one line for each group and topic."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.group_lag_rows import lag_rows, total_lag
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.groups import describe_group, list_groups
from strandline.client.settings import ClientSettings

COLUMNS = (
    Column("group"),
    Column("topic"),
    Column("partitions", is_number=True),
    Column("lag", is_number=True),
    Column("largest", "largest of a partition", is_number=True, is_wide=True),
    Column("state"),
)


@click.command(cls=ClientCommand, short_help="Show how far behind groups are.")
@click.argument("groups", nargs=-1, metavar="[GROUP]...")
@report_format_option
def lag(groups: tuple[str, ...], output_format: str, settings: ClientSettings) -> None:
    """Show how far behind groups are.

    One line for each group and topic; of all groups where none is named.
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        names = groups or [group.group_id for group in await list_groups(cluster)]
        return [row for name in names for row in await _rows(cluster, name)]

    Report(output_format).rows(COLUMNS, run(settings, work))


async def _rows(cluster: Cluster, group_id: str) -> list[dict[str, Any]]:
    view = await describe_group(cluster, group_id)
    lags: defaultdict[str, list[int | None]] = defaultdict(list)
    for row in await lag_rows(cluster, view):
        lags[row["topic"]].append(row["lag"])
    return [
        {
            "group": group_id,
            "topic": topic,
            "partitions": len(each),
            "lag": total_lag(each),
            "largest": max((lag for lag in each if lag is not None), default=None),
            "state": view.state,
        }
        for topic, each in sorted(lags.items())
    ]
