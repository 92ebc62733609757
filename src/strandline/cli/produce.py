"""`strandline produce`: records from standard input to a topic."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import click

from strandline.cli.client_options import ClientCommand, Failed, changed
from strandline.cli.input_stream import input_chunks, input_size
from strandline.cli.output import counted
from strandline.cli.progress import scanning
from strandline.cli.record_format import BadFormat, unescape
from strandline.cli.record_input import InputShape, RecordInput, format_shape, json_shape, line_shape, with_constants
from strandline.cli.record_json import BadRecordLine, RecordLine
from strandline.cli.running import run_until_interrupted
from strandline.client.cluster import Cluster
from strandline.client.producer import Producer
from strandline.client.settings import ClientSettings

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


class Header(click.ParamType[tuple[str, bytes | None]]):
    """`name=value`; a bare name has a null value."""

    name = "NAME=VALUE"

    def convert(
        self, value: str | tuple[str, bytes | None], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, bytes | None]:
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not key:
            self.fail(f"{value!r} has no name before its '='", param, ctx)
        return key, text.encode("utf-8", "surrogateescape") if equals else None


@click.command(
    cls=ClientCommand,
    client_defaults={"allow.auto.create.topics": "true"},
    short_help="Write records from standard input to a topic.",
)
@click.argument("topic")
@click.option("-k", "--key", help="The key of every record.")
@click.option("-H", "--header", "headers", multiple=True, type=Header(), help="A header of every record; repeatable.")
@click.option("-p", "--partition", type=click.IntRange(0), help="The partition; by the key unless given.")
@click.option("-z", "--compression", type=click.Choice(CODECS), help="How batches are compressed.")
@click.option("-Z", "--tombstone", is_flag=True, help="Write an empty value as null.")
@click.option("-K", "--key-delimiter", metavar="TEXT", help="What stands between key and value on a line.")
@click.option("-D", "--delimiter", metavar="TEXT", default=r"\n", show_default=True, help="What ends a record.")
@click.option("-f", "--format", "form", metavar="FORMAT", help=r"What a record looks like: '%k %v\n'.")
@click.option("-J", "--json", "is_json", is_flag=True, help="Read what `consume -J` prints.")
@click.option("--acks", type=click.Choice(["0", "1", "all"]), help="Who must have a record.  [default: all]")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing when all went well.")
def produce(
    topic: str,
    key: str | None,
    headers: tuple[tuple[str, bytes | None], ...],
    partition: int | None,
    compression: str | None,
    tombstone: bool,
    key_delimiter: str | None,
    delimiter: str,
    form: str | None,
    is_json: bool,
    acks: str | None,
    quiet: bool,
    settings: ClientSettings,
) -> None:
    """Write records from standard input to a topic.

    Each line is a record, unless -K, -D, -f or -J say otherwise. A topic that does not exist is created where the
    brokers allow it.

    \b
    echo hello | strandline produce greetings
    strandline produce users -K : < users.txt              # key:value on each line
    strandline consume a -J -e | strandline produce b -J   # keys, headers, times and null values are kept
    """
    shape = _shape(key_delimiter, delimiter, form, is_json)
    values = {"compression_type": compression, "acks": acks}
    settings = changed(settings, **{name: value for name, value in values.items() if value is not None})
    constant_key = None if key is None else key.encode("utf-8", "surrogateescape")
    source = RecordInput(shape, settings.max_request_size)

    def complete(record: RecordLine) -> RecordLine:
        return with_constants(record, constant_key, headers, partition, tombstone)

    async def send_all(cluster: Cluster) -> None:
        delivered_count = await _send_all(cluster, topic, source, complete)
        if not quiet and sys.stderr.isatty():
            click.echo(f"{counted(delivered_count, 'record')} written to {topic}", err=True)

    try:
        run_until_interrupted(settings, send_all)
    except BadRecordLine as error:
        raise Failed(str(error)) from None


async def _send_all(
    cluster: Cluster, topic: str, source: RecordInput, complete: Callable[[RecordLine], RecordLine]
) -> int:
    async with Producer(cluster) as producer:

        async def send(records: Iterator[RecordLine]) -> None:
            for record in map(complete, records):
                await producer.send(
                    topic,
                    record.value,
                    key=record.key,
                    headers=record.headers,
                    timestamp_ms=record.timestamp_ms,
                    partition=record.partition,
                )

        with scanning("sending", input_size()) as advance:
            async for chunk in input_chunks():
                await send(source.records(chunk))
                advance(len(chunk))
                if producer.failure is not None:
                    break
        await send(source.last())
    if producer.failure is not None:
        raise producer.failure
    return producer.delivered_count


def _shape(key_delimiter: str | None, delimiter: str, form: str | None, is_json: bool) -> InputShape:
    if is_json and (form is not None or key_delimiter is not None):
        raise click.UsageError("-J says what the input looks like: leave out -f and -K")
    if form is not None and key_delimiter is not None:
        raise click.UsageError("-f says what stands between key and value: leave out -K")
    try:
        if is_json:
            return json_shape()
        if form is not None:
            return format_shape(form)
    except BadFormat as error:
        raise click.BadParameter(str(error), param_hint="-f") from None
    if not delimiter or key_delimiter == "":
        raise click.UsageError("a delimiter cannot be empty")
    return line_shape(unescape(delimiter), None if key_delimiter is None else unescape(key_delimiter))
