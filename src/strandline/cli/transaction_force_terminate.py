"""`strandline transaction force-terminate`: takes a transactional id from its producer."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.outcomes import execute_option, outcome, show_outcomes
from strandline.cli.reports import Column, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused
from strandline.client.settings import ClientSettings
from strandline.client.transaction_administration import describe_transaction
from strandline.client.transaction_administration import force_terminate as terminate

COLUMNS = (
    Column("transactional_id", "transactional id"),
    Column("state", "state before"),
    Column("producer_id", "producer id", is_number=True),
    Column("status"),
)


@click.command(
    "force-terminate", cls=ClientCommand, short_help="Fence producers and abort what they have open; --execute does it."
)
@click.argument("transactional_ids", nargs=-1, required=True, metavar="TRANSACTIONAL_ID...")
@execute_option
@report_format_option
def force_terminate(
    transactional_ids: tuple[str, ...], execute: bool, output_format: str, settings: ClientSettings
) -> None:
    """Fence producers and abort what they have open; --execute does it.

    As when another producer comes for the id: the one that has it is refused from then on.
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        return [await _terminate(cluster, transactional_id, execute) for transactional_id in transactional_ids]

    rows = run(settings, work)
    show_outcomes(output_format, COLUMNS, rows, not_done=None if execute else "fenced")


async def _terminate(cluster: Cluster, transactional_id: str, execute: bool) -> dict[str, Any]:
    view = await describe_transaction(cluster, transactional_id)
    refusal = None
    if execute:
        try:
            await terminate(cluster, transactional_id)
        except BrokerRefused as error:
            refusal = error
    return {
        "transactional_id": transactional_id,
        "state": view.state,
        "producer_id": view.producer_id,
        **outcome(refusal, "fenced" if execute else "would be fenced"),
    }
