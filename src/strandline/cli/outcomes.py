"""What became of each of several things asked for, as part of their rows; and the dry run that comes before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click

from strandline.cli.client_options import Failed
from strandline.cli.reports import Column, Report, Row
from strandline.client.failures import BrokerRefused

execute_option = click.option("--execute", is_flag=True, help="Do it. Without this, only show what would be done.")


def outcome(refusal: BrokerRefused | None, done: str) -> dict[str, Any]:
    """`status` for people, `error` for programs: Kafka's name of the error, or null."""
    if refusal is None:
        return {"status": done, "error": None}
    return {"status": str(refusal).removeprefix(f"{refusal.what}: "), "error": refusal.code_name}


def show_outcomes(
    output_format: str, columns: Sequence[Column], rows: Sequence[Row], *, not_done: str | None = None
) -> None:
    """The rows, what a dry run has not done, and the failure if one was refused, in this order."""
    Report(output_format).rows(columns, rows)
    if not_done is not None:
        say_dry_run(not_done)
    exit_if_refused(rows)


def exit_if_refused(rows: Iterable[Row]) -> None:
    """With a sentence on stderr: a script may have thrown the rows away."""
    refused = list(dict.fromkeys(f"{next(iter(row.values()))}: {row['status']}" for row in rows if row["error"]))
    if refused:
        raise Failed(refused[0] if len(refused) == 1 else f"{len(refused)} failed, the first being {refused[0]}")


def say_dry_run(what: str) -> None:
    click.echo(f"Nothing was {what}: this is what would be. Add --execute to do it.", err=True)
