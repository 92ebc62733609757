"""`strandline cluster events`: the journal of the cluster in plain words (SPEC R6)."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.consuming import Printer, consume_partitions
from strandline.cli.event_lines import JOURNAL, Told, as_json, as_text, by_time, collapsed
from strandline.cli.offset_language import END, Anchor, OffsetRange, Point
from strandline.cli.record_format import Shown
from strandline.cli.running import run_until_interrupted
from strandline.cli.times import Timestamp
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.settings import ClientSettings

KINDS = ("leadership", "isr", "epoch", "truncation", "assignment", "topic", "broker", "controller", "lost")
NO_JOURNAL = (
    "this cluster has no journal: a broker alone keeps none, and Apache Kafka has no such thing;"
    " start three with `strandline cluster up`"
)


@click.command(cls=ClientCommand, short_help="Tell what has happened in the cluster, and why.")
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens, until it is interrupted.")
@click.option("--since", type=Timestamp(), help="Only what has happened since: 10m, 2026-11-15T04:12:42Z.")
@click.option("-t", "--topic", "topics", multiple=True, help="Only what is about this topic, or TOPIC-PARTITION.")
@click.option("-k", "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only events of this kind.")
@click.option("-i", "--internal", is_flag=True, help="Each partition of internal topics, not all of them in a line.")
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
    internal: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Tell what has happened in the cluster, and why.

    Elections, epochs, replicas that left the ISR or came back, truncations, brokers and controllers that came and
    went: with the numbers that decided. Brokers write them into an internal topic of the cluster. They are told in the
    order of their times; with --follow, from then on, in the order in which they are heard of.

    \b
    strandline cluster events --since 10m -k leadership -k isr
    strandline cluster events --follow --topic orders
    """
    is_text = output_format == "text"
    printer = EventPrinter(
        _filter(topics, kinds),
        as_text if is_text else as_json,
        shows_each=internal or bool(topics) or not is_text,
        check_crcs=settings.check_crcs,
    )
    start = Point(Anchor.START) if since is None else Point(Anchor.TIME, since)

    async def read(cluster: Cluster) -> None:
        view = await cluster.refresh(None)
        if JOURNAL not in view.topics:
            raise ClientError(NO_JOURNAL)
        await consume_partitions(cluster, [JOURNAL], None, OffsetRange(start, END), printer)
        printer.tell()
        if follow:
            printer.tells_at_once = True
            after = Point(Anchor.OFFSET, printer.next_offset) if printer.count else start
            await consume_partitions(cluster, [JOURNAL], None, OffsetRange(after), printer)

    run_until_interrupted(settings, read, printer.outlet)


class EventPrinter(Printer):
    """Keeps what it reads until it is to be told, so that it can be put in order."""

    def __init__(
        self, is_wanted: Callable[[Told], bool], show: Callable[[Told], str], *, shows_each: bool, check_crcs: bool
    ) -> None:
        super().__init__(self._keep, None, quiet=True, check_crcs=check_crcs)
        self.next_offset = 0
        self.tells_at_once = False
        self._is_wanted = is_wanted
        self._show_told = show
        self._shows_each = shows_each
        self._kept: list[Told] = []

    def _keep(self, shown: Shown) -> bytes:
        self.next_offset = shown.record.offset + 1
        told = _told(shown)
        if self._is_wanted(told):
            self._kept.append(told)
        return b""

    def flush(self) -> None:
        if self.tells_at_once:
            self.tell()

    def tell(self) -> None:
        kept, self._kept = by_time(self._kept), []
        with self.outlet.printing():
            for told in kept if self._shows_each else collapsed(kept):
                click.echo(self._show_told(told))


def _filter(topics: tuple[str, ...], kinds: tuple[str, ...]) -> Callable[[Told], bool]:
    def is_wanted(told: Told) -> bool:
        topic = str(told.get("topic"))
        names = (topic, f"{topic}-{told.get('partition')}")
        return (not kinds or told.get("kind") in kinds) and (not topics or any(name in topics for name in names))

    return is_wanted


def _told(shown: Shown) -> Told:
    """Anybody may write to a topic: what is no entry is told as it is."""
    try:
        told = json.loads(shown.record.value or b"")
    except ValueError:
        told = None
    if not isinstance(told, dict):
        told = {"kind": "unknown", "says": (shown.record.value or b"").decode(errors="replace")}
    if not isinstance(told.get("time"), int):
        told["time"] = shown.record.timestamp
    return told
