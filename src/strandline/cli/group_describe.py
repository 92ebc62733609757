"""`strandline group describe`: members of groups, and how far they are."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.group_lag_rows import lag_rows, total_lag
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.groups import GroupView, describe_group
from strandline.client.settings import ClientSettings

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("committed", is_number=True),
    Column("start", is_number=True, is_wide=True),
    Column("end", is_number=True),
    Column("lag", is_number=True),
    Column("member"),
    Column("instance", is_wide=True),
    Column("client", is_wide=True),
    Column("host", is_wide=True),
    Column("metadata", is_wide=True),
)


@click.command(cls=ClientCommand, short_help="Show members of groups, and how far they are.")
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...")
@report_format_option
def describe(groups: tuple[str, ...], output_format: str, settings: ClientSettings) -> None:
    """Show members of groups, and how far they are.

    Lag is what a group has still to read. What retention deleted before it was read does not count.
    """

    async def work(cluster: Cluster) -> list[tuple[GroupView, list[dict[str, Any]]]]:
        views = [await describe_group(cluster, group_id) for group_id in groups]
        return [(view, await lag_rows(cluster, view)) for view in views]

    report = Report(output_format)
    found = run(settings, work)
    if not report.is_text:
        report.rows((), [_facts(view, rows) | {"partitions": rows} for view, rows in found])
        return
    for number, (view, rows) in enumerate(found):
        if number:
            report.line("")
        report.facts({key: value for key, value in _facts(view, rows).items() if key != "member_list"})
        report.line("")
        report.rows(COLUMNS, rows)


def _facts(group: GroupView, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "state": group.state,
        "type": group.group_type,
        "assignor": group.assignor or None,
        "coordinator": group.coordinator_id,
        "members": len(group.members),
        "lag": total_lag(row["lag"] for row in rows),
        "member_list": [
            {
                "member": member.member_id,
                "instance": member.instance_id,
                "client": member.client_id,
                "host": member.host,
                "partitions": [str(partition) for partition in member.partitions],
            }
            for member in group.members
        ],
    }
