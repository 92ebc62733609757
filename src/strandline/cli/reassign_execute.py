"""`strandline reassign execute`: replicas move, at a rate that others can live with, while a bar shows how far."""

from __future__ import annotations

import re
from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.outcomes import outcome, show_outcomes
from strandline.cli.partition_names import BrokerIds, choose_partitions
from strandline.cli.reassignment_file import Assignment, parse_assignment
from strandline.cli.reassignment_rows import PLAN_COLUMNS, plan_row, wait_until_moved
from strandline.cli.replication_throttles import end_throttles, throttle
from strandline.cli.reports import report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.reassignments import Refusals, reassign
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition

MOVE = re.compile(r"(?P<topic>[^/=]+)/(?P<partition>[0-9]{1,9})=(?P<brokers>[0-9,]+)")
RATE = re.compile(r"(?P<number>[0-9]{1,12})(?P<unit>[kKmMgG]?)")
UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}


class Rate(click.ParamType[int]):
    name = "RATE"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = RATE.fullmatch(value)
        if match is None or not int(match["number"]):
            self.fail(f"{value!r} is no rate: write bytes in a second, as in 50M, 800k or 1000000", param, ctx)
        return int(match["number"]) * UNITS[match["unit"].lower()]


@click.command(cls=ClientCommand, short_help="Move replicas, and show how far they are.")
@click.argument("moves", nargs=-1, metavar="[TOPIC/PARTITION=BROKERS...]")
@click.option("-f", "--file", type=click.File(encoding="utf-8"), help="Moves from Kafka's file; - is standard input.")
@click.option("--throttle", "rate", type=Rate(), help="Bytes in a second that each broker may spend on it: 50M.")
@click.option("--dry-run", is_flag=True, help="Only show what would move.")
@click.option("--no-wait", is_flag=True, help="Return when it has begun; see `reassign status`.")
@report_format_option
def execute(
    moves: tuple[str, ...],
    file: Any,
    rate: int | None,
    dry_run: bool,
    no_wait: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Move replicas, and show how far they are.

    The first of the brokers leads. A throttle is lifted when all is done; with --no-wait `reassign status --wait` does.

    \b
    strandline reassign execute orders/0=3,1 orders/1=1,2
    strandline reassign execute -f plan.json --throttle 50M
    """
    wanted = _wanted(moves, file)

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        chosen = await choose_partitions(cluster, [f"{name.topic}/{name.partition}" for name in wanted])
        before = {name: view.replicas for name, view in chosen.items()}
        refusals: Refusals = {}
        if not dry_run:
            if rate is not None:
                await throttle(cluster, before, wanted, rate)
            refusals = await reassign(cluster, wanted)
            if not no_wait:
                await wait_until_moved(cluster, wanted)
                if rate is not None:
                    await end_throttles(cluster, {name.topic for name in wanted})
        done = "would move" if dry_run else "moves" if no_wait else "moved"
        return [
            {**plan_row(name, before[name], target), **outcome(refusals.get(name), done)}
            for name, target in sorted(wanted.items())
        ]

    rows = run(settings, work)
    show_outcomes(output_format, PLAN_COLUMNS, rows)


def _wanted(moves: tuple[str, ...], file: Any) -> Assignment:
    wanted: Assignment = {} if file is None else parse_assignment(file.read(), file.name)
    for move in moves:
        match = MOVE.fullmatch(move)
        if match is None:
            raise click.UsageError(f"{move!r} is no move: write TOPIC/PARTITION=BROKERS, as in orders/0=3,1")
        name = TopicPartition(match["topic"], int(match["partition"]))
        if name in wanted:
            raise click.UsageError(f"{name.topic}/{name.partition} is given twice")
        wanted[name] = BrokerIds().convert(match["brokers"], None, None)
    if not wanted:
        raise click.UsageError("say what to move: TOPIC/PARTITION=BROKERS, or a file with -f")
    return wanted
