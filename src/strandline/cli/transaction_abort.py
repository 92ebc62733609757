"""`strandline transaction abort`: the end of a transaction that nobody else ends."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.outcomes import execute_option, say_dry_run
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.cli.transaction_rows import COLUMNS, producer_row
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.settings import ClientSettings
from strandline.client.transaction_administration import ProducerView, abort_transaction, producers_of
from strandline.model.partitions import TopicPartition


@click.command(cls=ClientCommand, short_help="Abort a transaction that hangs; shows which unless told to --execute.")
@click.argument("topic")
@click.option("-p", "--partition", type=click.IntRange(0), required=True, help="Where it is open.")
@click.option("--start-offset", type=click.IntRange(0), required=True, help="Its first offset, by `find-hanging`.")
@execute_option
@report_format_option
def abort(
    topic: str, partition: int, start_offset: int, execute: bool, output_format: str, settings: ClientSettings
) -> None:
    """Abort a transaction that hangs; shows which unless told to --execute.

    Writes a marker to the one partition, past the coordinator. A transaction that its coordinator knows belongs to
    `strandline transaction force-terminate`.
    """

    async def work(cluster: Cluster) -> ProducerView:
        name = TopicPartition(topic, partition)
        for producer in await producers_of(cluster, [name]):
            if producer.transaction_start_offset == start_offset:
                if execute:
                    await abort_transaction(cluster, producer)
                return producer
        raise ClientError(f"no transaction is open in {name} since offset {start_offset}")

    row = producer_row(run(settings, work)) | {"status": "aborted" if execute else "would be aborted"}
    Report(output_format).rows((*COLUMNS, Column("status")), [row])
    if not execute:
        say_dry_run("aborted")
