"""`strandline leader elect`: preferred leaders come back, or anybody leads where nobody does."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.outcomes import execute_option, outcome, show_outcomes
from strandline.cli.partition_names import Views, choose_partitions
from strandline.cli.reports import Column, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.elections import elect_leaders
from strandline.client.failures import BrokerRefused
from strandline.client.settings import ClientSettings
from strandline.client.view import PartitionView
from strandline.model.partitions import TopicPartition

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("leader", is_number=True),
    Column("preferred", is_number=True),
    Column("in_sync", "in sync"),
    Column("status"),
)


@click.command(cls=ClientCommand, short_help="Have preferred leaders elected; shows which unless told to --execute.")
@click.argument("partitions", nargs=-1, metavar="[TOPIC[/PARTITION]...]")
@click.option("--unclean", is_flag=True, help="Elect anybody where there is no leader, though records may be lost.")
@execute_option
@report_format_option
def elect(
    partitions: tuple[str, ...], unclean: bool, execute: bool, output_format: str, settings: ClientSettings
) -> None:
    """Have preferred leaders elected; shows which unless told to --execute.

    Of all partitions, or those named. Only partitions are shown that are not led as they should be.

    \b
    strandline leader elect
    strandline leader elect orders/0 --unclean --execute
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        chosen = await choose_partitions(cluster, partitions)
        wanted = {name: view for name, view in chosen.items() if _is_wanted(view, unclean=unclean)}
        refusals: dict[TopicPartition, BrokerRefused | None] = {}
        if execute and wanted:
            refusals = await elect_leaders(cluster, wanted, unclean=unclean)
        return _rows(wanted, refusals, "elected" if execute else "would be elected")

    rows = run(settings, work)
    show_outcomes(output_format, COLUMNS, rows, not_done=None if execute else "elected")


def _is_wanted(view: PartitionView, *, unclean: bool) -> bool:
    return not view.has_leader if unclean else view.leader_id != view.replicas[0]


def _rows(wanted: Views, refusals: dict[TopicPartition, BrokerRefused | None], done: str) -> list[dict[str, Any]]:
    return [
        {
            "topic": name.topic,
            "partition": name.partition,
            "leader": view.leader_id if view.has_leader else None,
            "preferred": view.replicas[0],
            "in_sync": list(view.in_sync),
            **outcome(refusals.get(name), done),
        }
        for name, view in sorted(wanted.items())
    ]
