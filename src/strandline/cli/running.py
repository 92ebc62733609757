"""Runs what a command does against a cluster, to its end or until it is interrupted."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import click

from strandline.cli.outlet import ENDINGS, Outlet
from strandline.client.blocking import Blocking, Work
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.settings import ClientSettings

T = TypeVar("T")


def run(settings: ClientSettings, work: Work[T]) -> T:
    with Blocking(settings) as client:
        client.cluster.when_waiting = tell_of_waiting
        return client(work)


def run_until_interrupted(settings: ClientSettings, work: Work[T], outlet: Outlet | None = None) -> T | None:
    """Ctrl-C and SIGTERM are how such a command is meant to end: it cleans up, and nothing is wrong."""

    async def perform() -> T | None:
        task = asyncio.ensure_future(perform_with_cluster())

        def interrupt() -> None:
            if outlet is None or not outlet.is_given_up:  # if it is, the task ends already
                task.cancel()

        for number in ENDINGS:
            asyncio.get_running_loop().add_signal_handler(number, interrupt)
        try:
            return await task
        except asyncio.CancelledError:
            return None

    async def perform_with_cluster() -> T:
        async with Cluster(settings) as cluster:
            cluster.when_waiting = tell_of_waiting
            return await work(cluster)

    return asyncio.run(perform())


def tell_of_waiting(error: ClientError) -> None:
    click.echo(f"strandline: waiting, for now: {error}", err=True)
