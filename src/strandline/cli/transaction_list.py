"""`strandline transaction list`: the transactional ids that coordinators know."""

from __future__ import annotations

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.transaction_administration import TransactionListing, list_transactions

COLUMNS = (
    Column("transactional_id", "transactional id"),
    Column("state"),
    Column("producer_id", "producer id", is_number=True),
    Column("coordinator", is_number=True),
)


@click.command("list", cls=ClientCommand, short_help="List transactional ids, and in which state each is.")
@click.option("--state", "states", multiple=True, help="Only those in this state: Ongoing, Empty …; repeatable.")
@click.option("--producer-id", "producer_ids", type=int, multiple=True, help="Only of this producer; repeatable.")
@click.option("--longer-than", "longer_than_ms", type=click.IntRange(0), default=None, help="In ms: only older ones.")
@report_format_option
def list_all(
    states: tuple[str, ...],
    producer_ids: tuple[int, ...],
    longer_than_ms: int | None,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """List transactional ids, and in which state each is.

    Those of every broker. An id is forgotten a week after its last transaction (transactional.id.expiration.ms).
    """

    async def work(cluster: Cluster) -> list[TransactionListing]:
        older_than_ms = -1 if longer_than_ms is None else longer_than_ms
        return await list_transactions(cluster, states, producer_ids, older_than_ms)

    Report(output_format).rows(
        COLUMNS,
        [
            {
                "transactional_id": each.transactional_id,
                "state": each.state,
                "producer_id": each.producer_id,
                "coordinator": each.coordinator_id,
            }
            for each in run(settings, work)
        ],
    )
