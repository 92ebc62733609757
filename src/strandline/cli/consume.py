"""`strandline consume`: records of topics to standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from strandline.cli.client_options import ClientCommand, changed, was_given
from strandline.cli.consuming import Printer, consume_as_group, consume_partitions
from strandline.cli.offset_language import Anchor, BadOffset, OffsetRange, Point, parse_offsets
from strandline.cli.partition_list import PartitionList
from strandline.cli.record_format import BadFormat, Shown, compile_format, unescape
from strandline.cli.record_json import format_record
from strandline.cli.running import run_until_interrupted
from strandline.cli.times import now_ms
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings

NULL = b"NULL"
RESETS = {Anchor.START: "earliest", Anchor.END: "latest"}


@click.command(
    cls=ClientCommand,
    client_defaults={"auto.offset.reset": "earliest"},
    short_help="Print the records of topics.",
)
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@click.option(
    "-o",
    "--offset",
    "offsets",
    multiple=True,
    metavar="OFFSET",
    help="Where to begin, and to stop: start, end, 47, +5, -5, 5:10, :end, @-1h, @2026-11-15:1h.  [default: start]",
)
@click.option("-p", "--partitions", type=PartitionList(), help="Only these partitions.")
@click.option("-n", "-c", "--num", "count_max", type=click.IntRange(0), help="Stop after so many records.")
@click.option("-e", "--exit", "stops_at_end", is_flag=True, help="Stop at what is the end when it begins.")
@click.option("-g", "--group", help="Read as a member of this group, from where it was, and commit.")
@click.option("-f", "--format", "form", metavar="FORMAT", help=r"What to print of a record: '%t-%p %o %k %v\n'.")
@click.option("-J", "--json", "is_json", is_flag=True, help="Print records as lines of JSON, for `produce -J` too.")
@click.option("-K", "--key-delimiter", metavar="TEXT", help="Print the key, this, and the value.")
@click.option(
    "-D", "--delimiter", metavar="TEXT", default=r"\n", show_default=True, help="What to print after a record."
)
@click.option("-Z", "--null", "shows_null", is_flag=True, help="Print null keys and values as NULL.")
@click.option("--read-committed", is_flag=True, help="Only what no transaction can take back.")
@click.option("-q", "--quiet", is_flag=True, help="No remarks on stderr.")
def consume(
    topics: tuple[str, ...],
    offsets: tuple[str, ...],
    partitions: tuple[int, ...] | None,
    count_max: int | None,
    stops_at_end: bool,
    group: str | None,
    form: str | None,
    is_json: bool,
    key_delimiter: str | None,
    delimiter: str,
    shows_null: bool,
    read_committed: bool,
    quiet: bool,
    settings: ClientSettings,
) -> None:
    """Print the records of topics.

    Reads from the first record on until it is interrupted, unless -o, -n or -e say otherwise.

    \b
    Offsets  start, end, 47 (an offset), +5 (after the start), -5 (before the end), 5:10, :end, 100:end,
             @T, @T:U, @:U; T and U are 1700000000000, 2026-11-15, 2026-11-15T04:12:42Z, -1h or, for U, 1h or end.
    Format   %t topic, %p partition, %o offset, %k key, %v value, %d time, %h headers, %e epoch, %K %V lengths,
             %H number of headers; %v{hex}, %v{base64}, %d{strftime[%F %T]}, %h{%k=%v }, %V{big32}; \\n \\t \\xNN %%

    \b
    strandline consume orders -o -10 -e                    # the last ten of each partition
    strandline consume orders -o @-1h:end -f '%o %k %v\\n'  # the last hour
    """
    wanted = _range(offsets, group)
    if group is not None and (partitions is not None or wanted.end is not None):
        raise click.UsageError("with -g the group says which partitions, and reads on: leave out -p and the end of -o")
    if read_committed:
        settings = changed(settings, isolation_level="read_committed")
    if group is not None and offsets and not was_given("auto.offset.reset"):
        settings = changed(settings, auto_offset_reset=RESETS.get(wanted.start.anchor, "earliest"))
    show = _show(form, is_json, key_delimiter, delimiter, NULL if shows_null else b"")
    printer = Printer(show, count_max, quiet=quiet, check_crcs=settings.check_crcs)

    async def read(cluster: Cluster) -> None:
        if group is None:
            span = wanted.until_present_end() if stops_at_end else wanted
            await consume_partitions(cluster, topics, partitions, span, printer)
        else:
            await consume_as_group(cluster, topics, group, stops_at_end, printer)

    try:
        run_until_interrupted(settings, read, printer.outlet)
    finally:
        sys.stdout.buffer.flush()


def _range(offsets: tuple[str, ...], group: str | None) -> OffsetRange:
    try:
        wanted = parse_offsets(offsets or ("start",), now_ms())
    except BadOffset as error:
        raise click.BadParameter(str(error), param_hint="-o") from None
    if wanted.start == Point(Anchor.STORED) and group is None:
        raise click.UsageError("-o stored is where a group was: say which with -g")
    if group is not None and wanted.start.anchor not in (*RESETS, Anchor.STORED):
        raise click.UsageError(
            "with -g, -o is for a group that was nowhere yet: start or end; move one by `group seek`"
        )
    return wanted


def _show(
    form: str | None, is_json: bool, key_delimiter: str | None, delimiter: str, null: bytes
) -> Callable[[Shown], bytes]:
    if is_json or form == "json":
        return lambda shown: format_record(shown.record) + b"\n"
    end = unescape(delimiter)
    if form is not None:
        try:
            formatted = compile_format(form)
        except BadFormat as error:
            raise click.BadParameter(str(error), param_hint="-f") from None
        return lambda shown: formatted(shown._replace(null_text=null))
    if key_delimiter is None:
        return lambda shown: _text(shown.record.value, null) + end
    between = unescape(key_delimiter)
    return lambda shown: _text(shown.record.key, null) + between + _text(shown.record.value, null) + end


def _text(data: bytes | None, null: bytes) -> bytes:
    return null if data is None else data
