"""`strandline offsets`: what the partitions of topics hold."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.consuming import choose_partitions
from strandline.cli.offset_language import BadOffset, parse_time
from strandline.cli.output import iso_time
from strandline.cli.partition_list import PartitionList
from strandline.cli.partition_rows import offsets_of, record_count
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.cli.times import now_ms
from strandline.client.cluster import Cluster
from strandline.client.offsets import NONE_FOUND, list_offsets
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition

PLACE = (Column("topic"), Column("partition", is_number=True))
RANGE = (
    Column("start", is_number=True),
    Column("stable", is_number=True),
    Column("high_watermark", "high watermark", is_number=True),
    Column("end", is_number=True),
    Column("records", is_number=True),
)
AT = (Column("offset", is_number=True), Column("time"), Column("leader_epoch", "epoch", is_number=True, is_wide=True))


class Moment(click.ParamType[int]):
    """A time, as everywhere in the language of offsets."""

    name = "T"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parse_time(value, now_ms())
        except BadOffset as error:
            self.fail(str(error), param, ctx)


@click.command(cls=ClientCommand, short_help="Show what the partitions of topics hold.")
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@click.option("-p", "--partitions", type=PartitionList(), help="Only these partitions.")
@click.option("--at", "at_ms", type=Moment(), help="The first record of this time or later: -1h, 2026-11-15.")
@report_format_option
def offsets(
    topics: tuple[str, ...],
    partitions: tuple[int, ...] | None,
    at_ms: int | None,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Show what the partitions of topics hold.

    \b
    start           the first offset that can be read
    stable          below it no transaction is open: as far as --read-committed reads
    high watermark  below it all replicas in sync have the records: as far as consumers read
    end             what the next record will get
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        chosen = await choose_partitions(cluster, topics, partitions)
        if at_ms is not None:
            return await _at(cluster, chosen, at_ms)
        found = await offsets_of(cluster, chosen)
        return [_place(each) | found[each] | {"records": record_count(found[each])} for each in chosen]

    Report(output_format).rows(PLACE + (RANGE if at_ms is None else AT), run(settings, work))


async def _at(cluster: Cluster, partitions: list[TopicPartition], at_ms: int) -> list[dict[str, Any]]:
    found = await list_offsets(cluster, dict.fromkeys(partitions, at_ms))
    return [
        _place(partition)
        | {
            "offset": None if found[partition].offset == NONE_FOUND else found[partition].offset,
            "timestamp": None if found[partition].offset == NONE_FOUND else found[partition].timestamp,
            "time": None if found[partition].offset == NONE_FOUND else iso_time(found[partition].timestamp),
            "leader_epoch": found[partition].leader_epoch,
        }
        for partition in partitions
    ]


def _place(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}
