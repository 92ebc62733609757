"""`strandline transaction find-hanging`: transactions that partitions wait for and that nobody will end."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.partition_list import PartitionList
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.cli.times import now_ms
from strandline.cli.transaction_rows import partitions_of, show_producers
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.transaction_administration import ProducerView
from strandline.client.transaction_administration import find_hanging as find

MINUTE_MS = 60_000


@click.command("find-hanging", cls=ClientCommand, short_help="Find transactions that nobody will end.")
@click.argument("topics", nargs=-1, metavar="[TOPIC]...")
@click.option("-p", "--partitions", type=PartitionList(), help="Only these partitions.")
@click.option(
    "--max-transaction-timeout",
    "minutes",
    type=click.IntRange(0),
    default=15,
    show_default=True,
    help="In minutes: what was written to later than that may still be about to begin.",
)
@report_format_option
def find_hanging(
    topics: tuple[str, ...],
    partitions: tuple[int, ...] | None,
    minutes: int,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Find transactions that nobody will end.

    A partition has them open and no coordinator does: readers of committed records stand before them until
    `strandline transaction abort` ends them. Looks at all topics where none is named.
    """

    async def work(cluster: Cluster) -> list[ProducerView]:
        return await find(cluster, await partitions_of(cluster, topics, partitions), now_ms() - minutes * MINUTE_MS)

    show_producers(Report(output_format), run(settings, work))
