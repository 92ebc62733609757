"""`strandline cluster events`: the journal of the cluster in plain words (SPEC R6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.consuming import Printer, consume_partitions
from strandline.cli.offset_language import Anchor, OffsetRange, Point
from strandline.cli.record_format import Shown
from strandline.cli.running import run_until_interrupted
from strandline.cli.times import Timestamp
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.settings import ClientSettings

JOURNAL = "__strandline_journal"
KINDS = ("leadership", "isr", "epoch", "truncation", "assignment", "topic", "broker", "controller", "lost")
NO_JOURNAL = (
    "this cluster has no journal: a broker alone keeps none, and Apache Kafka has no such thing;"
    " start three with `strandline cluster up`"
)


@click.command(cls=ClientCommand, short_help="Tell what has happened in the cluster, and why.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens, until it is interrupted.")
@click.option("--since", type=Timestamp(), help="Only what has happened since: @-1h, 2026-11-15T04:12:42Z.")
@click.option("-t", "--topic", "topics", multiple=True, help="Only what is about this topic, or TOPIC-PARTITION.")
@click.option("-k", "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only events of this kind.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json prints one object on each line, with the numbers that decided.",
)
def events(
    follow: bool,
    since: int | None,
    topics: tuple[str, ...],
    kinds: tuple[str, ...],
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Tell what has happened in the cluster, and why.

    Elections, epochs, replicas that left the ISR or came back, truncations, brokers and controllers that came and
    went: with the numbers that decided. Brokers write them into an internal topic of the cluster.

    \b
    strandline cluster events --since @-10m -k leadership -k isr
    strandline cluster events --follow --topic orders
    """
    is_wanted = _filter(topics, kinds)
    show = _as_json if output_format == "json" else _as_text
    printer = Printer(
        lambda shown: show(shown) if is_wanted(_told(shown)) else b"", None, quiet=True, check_crcs=settings.check_crcs
    )
    start = Point(Anchor.START) if since is None else Point(Anchor.TIME, since)

    async def read(cluster: Cluster) -> None:
        view = await cluster.refresh(None)
        if JOURNAL not in view.topics:
            raise ClientError(NO_JOURNAL)
        span = OffsetRange(start, None)
        await consume_partitions(cluster, [JOURNAL], None, span if follow else span.until_present_end(), printer)

    run_until_interrupted(settings, read)


def _filter(topics: tuple[str, ...], kinds: tuple[str, ...]) -> Callable[[dict[str, Any]], bool]:
    def is_wanted(told: dict[str, Any]) -> bool:
        topic = str(told.get("topic"))
        names = (topic, f"{topic}-{told.get('partition')}")
        return (not kinds or told.get("kind") in kinds) and (not topics or any(name in topics for name in names))

    return is_wanted


def _told(shown: Shown) -> dict[str, Any]:
    """Anybody may write to a topic: what is no entry is told as it is."""
    try:
        told = json.loads(shown.record.value or b"")
    except ValueError:
        told = None
    if not isinstance(told, dict):
        return {"kind": "unknown", "says": (shown.record.value or b"").decode(errors="replace")}
    return told


def _as_json(shown: Shown) -> bytes:
    return json.dumps(_told(shown), ensure_ascii=False).encode() + b"\n"


def _as_text(shown: Shown) -> bytes:
    told = _told(shown)
    moment = datetime.fromtimestamp(int(told.get("time", shown.record.timestamp)) / 1000, UTC)
    at = moment.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    return f"{at}  {told.get('kind', '?'):<10}  {told.get('says', '')}\n".encode()
