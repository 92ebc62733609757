"""`strandline transaction producers`: the producers that partitions remember."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.partition_list import PartitionList
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.cli.transaction_rows import partitions_of, show_producers
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.transaction_administration import ProducerView, producers_of


@click.command(cls=ClientCommand, short_help="Show the producers that partitions remember, and what they have open.")
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@click.option("-p", "--partitions", type=PartitionList(), help="Only these partitions.")
@report_format_option
def producers(
    topics: tuple[str, ...], partitions: tuple[int, ...] | None, output_format: str, settings: ClientSettings
) -> None:
    """Show the producers that partitions remember, and what they have open.

    Idempotent and transactional ones, for a day after they last wrote (producer.id.expiration.ms).
    """

    async def work(cluster: Cluster) -> list[ProducerView]:
        return await producers_of(cluster, await partitions_of(cluster, topics, partitions))

    show_producers(Report(output_format), run(settings, work))
