"""`strandline reassign plan`: where replicas should go, before and after."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.partition_names import BrokerIds, choose_partitions
from strandline.cli.reassignment_file import assignment_text
from strandline.cli.reassignment_plan import planned
from strandline.cli.reassignment_rows import PLAN_COLUMNS, plan_row
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.settings import ClientSettings


@click.command(cls=ClientCommand, short_help="Show how replicas would be spread evenly; nothing moves.")
@click.argument("partitions", nargs=-1, metavar="[TOPIC[/PARTITION]...]")
@click.option("--brokers", type=BrokerIds(), help="The brokers to spread them over.  [default: all that live]")
@click.option("-r", "--replicas", type=click.IntRange(1), help="How many each shall have.  [default: as many as now]")
@click.option("-o", "--output", metavar="FILE", help="Write it as Kafka's file too, for `reassign execute -f`.")
@report_format_option
def plan(
    partitions: tuple[str, ...],
    brokers: tuple[int, ...] | None,
    replicas: int | None,
    output: str | None,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Show how replicas would be spread evenly; nothing moves.

    Of all partitions, or those named, with as few moves as possible. Only those are shown that would change.

    \b
    strandline reassign plan --brokers 1,2,4 -o plan.json     to retire broker 3
    strandline reassign execute -f plan.json --throttle 50M
    """

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        before = {name: view.replicas for name, view in (await choose_partitions(cluster, partitions)).items()}
        await cluster.refresh(())
        targets = brokers or tuple(sorted(cluster.view.nodes))
        most = max([replicas or 0, *(len(each) for each in before.values() if replicas is None)])
        if most > len(targets):
            raise ClientError(f"{most} replicas need as many brokers, and there are {len(targets)}")
        after = planned(before, targets, replicas)
        changed = {name: target for name, target in after.items() if target != tuple(before[name])}
        if output is not None:
            _write(output, assignment_text(changed))
        return [
            {**plan_row(name, before[name], target), "status": "would move", "error": None}
            for name, target in sorted(changed.items())
        ]

    rows = run(settings, work)
    Report(output_format).rows(PLAN_COLUMNS, rows)
    if not rows:
        click.echo("Nothing would move: replicas and leaders are spread as evenly as they can be.", err=True)


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ClientError(f"cannot write {path}: {error.strerror}") from None
