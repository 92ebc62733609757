"""`strandline transaction describe`: what a coordinator knows of transactional ids."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.cli.times import now_ms
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.transaction_administration import TransactionView, describe_transaction

COLUMNS = (
    Column("transactional_id", "transactional id"),
    Column("state"),
    Column("producer_id", "producer id", is_number=True),
    Column("producer_epoch", "epoch", is_number=True),
    Column("age_ms", "age ms", is_number=True),
    Column("timeout_ms", "timeout ms", is_number=True),
    Column("coordinator", is_number=True, is_wide=True),
    Column("partitions"),
)


@click.command(cls=ClientCommand, short_help="Show what is known of transactional ids, and where they write.")
@click.argument("transactional_ids", nargs=-1, required=True, metavar="TRANSACTIONAL_ID...")
@report_format_option
def describe(transactional_ids: tuple[str, ...], output_format: str, settings: ClientSettings) -> None:
    """Show what is known of transactional ids, and where they write.

    Once a transaction is decided, its partitions are those that still have to be told.
    """

    async def work(cluster: Cluster) -> list[TransactionView]:
        return [await describe_transaction(cluster, transactional_id) for transactional_id in transactional_ids]

    report, now = Report(output_format), now_ms()
    rows = [_row(view, now) for view in run(settings, work)]
    if report.is_text:
        rows = [row | {"partitions": ", ".join(row["partitions"]) or None} for row in rows]
    report.rows(COLUMNS, rows)


def _row(view: TransactionView, now: int) -> dict[str, Any]:
    is_open = view.start_ms is not None and view.state in ("Ongoing", "PrepareCommit", "PrepareAbort")
    return {
        "transactional_id": view.transactional_id,
        "state": view.state,
        "producer_id": view.producer_id,
        "producer_epoch": view.producer_epoch,
        "age_ms": now - view.start_ms if is_open and view.start_ms is not None else None,
        "timeout_ms": view.timeout_ms,
        "coordinator": view.coordinator_id,
        "partitions": [str(partition) for partition in view.partitions],
    }
