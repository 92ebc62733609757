"""`strandline serve`: a broker in the foreground, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import NoReturn

import click

from strandline.broker import event_loop
from strandline.broker.broker import Broker
from strandline.broker.configs.unknown_names import refuse_unknown
from strandline.broker.identity import ForeignDirectory
from strandline.broker.registration import IdInUse
from strandline.log.java_properties import parse_properties
from strandline.log.log_directory import DirectoryInUse
from strandline.metadata.embedded import StoreInUse
from strandline.metadata.errors import KazooMissing, StoreError
from strandline.model.failures import CorruptData, StorageFailed
from strandline.model.settings import BadSetting

EXPECTED = (
    BadSetting,
    DirectoryInUse,
    StoreInUse,
    ForeignDirectory,
    StorageFailed,
    CorruptData,
    KazooMissing,
    IdInUse,
    StoreError,
)
DEFAULT_DATA = "data"
OPEN_FILES = 2**16
# How long a thread that compacts may keep the event loop waiting, at each of its system calls. Python's own 5 ms would
# make a request of 0.1 ms take 20.
SWITCH_INTERVAL_S = 0.0005
# Python looks for cycles that nobody can reach after so many new objects, and every so often among all there are. With
# a thousand topics that takes 0.1 s, for which everybody waits; the cycles we leave hold little, and old ones can wait.
YOUNG_COLLECTION, MIDDLE_COLLECTION, WHOLE_COLLECTION = 700, 10, 50  # Python's own are 700, 10, 10


@click.command()
@click.option("-c", "--config", "config_path", metavar="FILE", help="A server.properties, as Kafka's.")
@click.option("--data", metavar="DIR", help=f"Where the data lies (log.dirs).  [default: ./{DEFAULT_DATA}]")
@click.option("--host", help="Address to listen on; 0.0.0.0 is every one of this machine.  [default: localhost]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on; 0 takes a free one.  [default: 9092]")
@click.option("--set", "assignments", multiple=True, metavar="KEY=VALUE", help="A setting by Kafka's name; repeatable.")
@click.option("--until-stdin-closes", is_flag=True, help="Stop with the process that holds the other end of its input.")
@click.option("-v", "--verbose", is_flag=True, help="Say more about what goes on.")
def serve(
    config_path: str | None,
    data: str | None,
    host: str | None,
    port: int | None,
    assignments: tuple[str, ...],
    until_stdin_closes: bool,
    verbose: bool,
) -> None:
    """Start a broker and serve until it is stopped.

    One line on standard output says that it is ready. The metadata lies beside the data; nothing else is needed.
    """
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="%(asctime)s %(levelname)s %(message)s"
    )
    properties: dict[str, str] = {}
    try:
        properties = gather_properties(config_path, data, host, port, assignments)
        event_loop.run(_serve(properties, until_stdin_closes=until_stdin_closes))
    except EXPECTED as error:
        fail(str(error))
    except OSError as error:
        fail(f"cannot start: {error.strerror or error}{_advice(error, properties)}")


def gather_properties(
    config_path: str | None, data: str | None, host: str | None, port: int | None, assignments: tuple[str, ...]
) -> dict[str, str]:
    """From the least to the most particular: the file, the options, `--set`."""
    properties: dict[str, str] = {}
    if config_path is not None:
        try:
            with open(config_path, "rb") as file:
                properties |= parse_properties(file.read())
        except (OSError, CorruptData) as error:
            raise BadSetting(f"cannot read {config_path}: {getattr(error, 'strerror', None) or error}") from None
    if data is not None or not properties.keys() & {"log.dirs", "log.dir"}:
        properties["log.dirs"] = data or DEFAULT_DATA
    if host is not None or port is not None or "listeners" not in properties:
        address = f"[{host}]" if host and ":" in host else host or "localhost"
        properties["listeners"] = f"PLAINTEXT://{address}:{9092 if port is None else port}"
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise BadSetting(f"--set {assignment!r}: expected KEY=VALUE")
        refuse_unknown([name.strip()])
        properties[name.strip()] = value
    return properties


async def _serve(properties: dict[str, str], *, until_stdin_closes: bool) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    if until_stdin_closes:
        loop.add_reader(sys.stdin, _stop_at_end_of_input, stopping)
    _raise_open_files()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(YOUNG_COLLECTION, MIDDLE_COLLECTION, WHOLE_COLLECTION)
    gc.freeze()  # the program itself is no garbage: it is not looked through again
    broker = Broker(properties)
    broker.when_failed = stopping.set
    await broker.start()
    click.echo(ready_line(broker))
    sys.stdout.flush()
    await stopping.wait()
    await broker.stop()
    if broker.failure is not None:
        raise StorageFailed(broker.failure)
    with suppress(OSError):  # whoever was told that we are ready may have gone
        click.echo("strandline has stopped; the data is on the disk.")


def _stop_at_end_of_input(stopping: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 4096):
        asyncio.get_running_loop().remove_reader(sys.stdin)
        stopping.set()


def ready_line(broker: Broker) -> str:
    host, port = broker.addresses[0]
    shown = "localhost" if host in ("127.0.0.1", "::1", "0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = f"{shown}:{port}"
    open_to = ", open to whoever reaches this machine" if host in ("0.0.0.0", "::") else ""
    data = ", ".join(os.path.relpath(path) for path in broker.directory_settings.log_dirs)
    return (
        f"strandline is ready at {address} (broker {broker.settings.broker_id}, data in {data}{open_to});"
        f" try: echo hello | strandline produce greetings -b {address}"
    )


def _raise_open_files() -> None:
    """A partition holds a few files open. Kafka asks its users to do this by hand."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _advice(error: OSError, properties: Mapping[str, str]) -> str:
    if error.errno != errno.EADDRINUSE:
        return ""
    return f": {properties['listeners']}. Is another broker running? Choose another port with --port"


def fail(sentence: str) -> NoReturn:
    click.echo(f"strandline: {sentence}", err=True)
    sys.exit(1)
