"""`strandline cluster up`: a real ZooKeeper and brokers on this machine, each a process of its own."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import click

from strandline.cli.client_options import SettingAssignment
from strandline.cli.local_cluster import LocalClusterCommand, directory_option, find_cluster, java_home
from strandline.cli.output import EXIT_INTERRUPTED, counted
from strandline.cluster.cluster_plan import FILE_NAME, ClusterRefused
from strandline.cluster.process_cluster import ProcessCluster

DEFAULT_BROKERS, DEFAULT_PORT = 3, 9092
BROKERS_MAX = 100
# Whoever tries a cluster kills a broker, and then wonders why the first group finds no coordinator.
FIRST_SETTINGS = {"strandline.internal.topics.early": "true"}
ENDINGS = (signal.SIGTERM, signal.SIGHUP)


@click.command(cls=LocalClusterCommand, short_help="Start ZooKeeper and brokers on this machine.")
@click.option("--brokers", type=click.IntRange(1, BROKERS_MAX), help="How many.  [default: 3]")
@directory_option
@click.option("--port", type=click.IntRange(0, 65535), help="Of broker 1; 0 takes free ones.  [default: 9092]")
@click.option("--zookeepers", type=click.Choice(["1", "3"]), help="How many servers of ZooKeeper.  [default: 1]")
@click.option("--zookeeper", metavar="HOST:PORT", help="An ensemble that runs already, instead of one of its own.")
@click.option("--set", "assignments", multiple=True, type=SettingAssignment(), help="A setting of all brokers.")
@click.option("--detach", is_flag=True, help="Return when it serves. `cluster down` stops it.")
def up(
    brokers: int | None,
    directory: str,
    port: int | None,
    zookeepers: str | None,
    zookeeper: str | None,
    assignments: tuple[tuple[str, str], ...],
    detach: bool,
) -> None:
    """Start ZooKeeper and brokers on this machine.

    Each is a process of its own. Brokers are numbered from 1, and have consecutive ports. Where DIR has a cluster
    already, that one is started again, with its data and its ports. It stays in the foreground and tells who comes
    and goes, until Ctrl-C stops all of it.

    ZooKeeper comes with PySpark (pip install -e '.[cluster]' in the checkout) and needs Java.
    """
    if zookeepers is not None and zookeeper is not None:
        raise click.UsageError("--zookeepers are servers of its own, --zookeeper is another's: give one of them")
    if os.path.exists(f"{directory}/{FILE_NAME}"):
        cluster = _again(directory, brokers, port, zookeepers, zookeeper, dict(assignments))
    else:
        cluster = ProcessCluster.create(
            directory,
            brokers=brokers or DEFAULT_BROKERS,
            port=DEFAULT_PORT if port is None else port,
            zookeepers=int(zookeepers or 1),
            zookeeper=zookeeper or "",
            settings=FIRST_SETTINGS | dict(assignments),
            java_home=java_home(),
        )
    with _endings_as_interrupts():
        _start(cluster)
        if detach:
            _tell_ready(cluster, f"strandline cluster down --dir {cluster.directory}")
        else:
            _stay(cluster)


def _again(
    directory: str,
    brokers: int | None,
    port: int | None,
    zookeepers: str | None,
    zookeeper: str | None,
    settings: dict[str, str],
) -> ProcessCluster:
    cluster = find_cluster(directory)
    plan = cluster.plan
    if brokers not in (None, len(plan.brokers)):
        _refuse(directory, f"{counted(len(plan.brokers), 'broker')}, not {brokers}", "--brokers")
    if zookeepers not in (None, str(plan.zookeepers)):
        _refuse(directory, f"{counted(plan.zookeepers, 'server')} of ZooKeeper, not {zookeepers}", "--zookeepers")
    if zookeeper not in (None, plan.zookeeper):
        _refuse(directory, f"its ZooKeeper at {cluster.connect}, not at {zookeeper}", "--zookeeper")
    has_moved = port not in (None, 0, min(plan.brokers.values()))  # 0, any ports, is those that it has
    if has_moved or settings:
        return cluster.changed(port if has_moved else None, settings)
    return cluster


def _refuse(directory: str, what: str, option: str) -> NoReturn:
    raise ClusterRefused(f"The cluster in {directory} has {what}: leave {option} out, or choose another --dir.")


def _start(cluster: ProcessCluster) -> None:
    running = [process.title for process in cluster.processes if process.pid is not None]
    missing = len(cluster.processes) - len(running)
    if running and missing:
        click.echo(f"Running already: {', '.join(running)}.")
    began_s = time.monotonic()
    try:
        cluster.up(lambda event: click.echo(f"{time.monotonic() - began_s:5.1f} s  {event}"))
    except KeyboardInterrupt:
        click.echo("\nInterrupted; what this command has started is ended.", err=True)
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None


def _tell_ready(cluster: ProcessCluster, ending: str) -> None:
    last = max(cluster.brokers)
    size = counted(len(cluster.brokers), "broker")
    click.echo(f"\nThe cluster is up: {size} at {cluster.bootstrap}, ZooKeeper at {cluster.connect}.")
    click.echo(f"All of it lies in {cluster.directory}. Try:\n")
    for example in (
        f"echo hello | strandline produce greetings -b {cluster.bootstrap}",
        f"strandline consume greetings -o start -e -b {cluster.bootstrap}",
        f"strandline cluster kill {last} --dir {cluster.directory}",
        f"strandline cluster status --dir {cluster.directory}",
    ):
        click.echo(f"  {example}")
    click.echo(f"\n{ending} stops all of it.")


def _stay(cluster: ProcessCluster) -> None:
    from strandline.cluster.watching import comings_and_goings

    try:
        _tell_ready(cluster, "Ctrl-C")
        for event in comings_and_goings(cluster):
            click.echo(f"{time.strftime('%H:%M:%S')}  {event}")
        click.echo("Nothing of the cluster runs any more.")
    except KeyboardInterrupt:
        click.echo("\nStopping; once more Ctrl-C kills.")
        _stop_or_kill(cluster)


def _stop_or_kill(cluster: ProcessCluster) -> None:
    try:
        cluster.down(lambda event: click.echo(f"  {event}"))
    except KeyboardInterrupt:
        cluster.kill_all()
        click.echo("\nAll of it was killed. The data is recovered at the next start.")
        raise click.exceptions.Exit(EXIT_INTERRUPTED) from None


@contextmanager
def _endings_as_interrupts() -> Iterator[None]:
    """A terminal that closes, and a polite kill, are as Ctrl-C is."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in ENDINGS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
