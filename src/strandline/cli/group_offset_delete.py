"""`strandline group offset-delete`: committed offsets of a group, to forget."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand, Failed
from strandline.cli.outcomes import execute_option, say_dry_run
from strandline.cli.partition_list import PartitionList
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.group_offsets import Committed, committed_offsets, delete_offsets
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("committed", is_number=True),
    Column("status"),
)


class TopicAndPartitions(click.ParamType[tuple[str, tuple[int, ...] | None]]):
    """`orders` or `orders:0,1`."""

    name = "TOPIC[:N,N]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        topic, colon, partitions = value.partition(":")
        return topic, PartitionList().convert(partitions, param, ctx) if colon else None


@click.command(
    "offset-delete", cls=ClientCommand, short_help="Forget committed offsets; shows which unless told to --execute."
)
@click.argument("group")
@click.option(
    "-t", "--topic", "places", multiple=True, required=True, type=TopicAndPartitions(), help="Of this; repeatable."
)
@execute_option
@report_format_option
def offset_delete(
    group: str,
    places: tuple[tuple[str, tuple[int, ...] | None], ...],
    execute: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Forget committed offsets; shows which unless told to --execute.

    Not those of topics that the group reads right now.
    """

    async def work(cluster: Cluster) -> dict[TopicPartition, Committed]:
        committed = await committed_offsets(cluster, group)
        chosen = {partition: at for partition, at in committed.items() if _is_meant(partition, places)}
        if chosen and execute:
            await delete_offsets(cluster, group, chosen)
        return chosen

    chosen = run(settings, work)
    if not chosen:
        raise Failed(f"group {group} has no committed offset there: `strandline group describe {group}` shows all")
    status = "deleted" if execute else "would be deleted"
    rows = [
        {"topic": topic, "partition": index, "committed": at.offset, "status": status}
        for (topic, index), at in sorted(chosen.items())
    ]
    Report(output_format).rows(COLUMNS, rows)
    if not execute:
        say_dry_run("deleted")


def _is_meant(partition: TopicPartition, places: tuple[tuple[str, tuple[int, ...] | None], ...]) -> bool:
    return any(
        partition.topic == topic and (indexes is None or partition.partition in indexes) for topic, indexes in places
    )
