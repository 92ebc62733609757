"""`strandline cluster kill`: one broker, without a word."""

from __future__ import annotations

import click

from strandline.cli.local_cluster import (
    LocalClusterCommand,
    broker_argument,
    directory_option,
    find_cluster,
    say,
)


@click.command(cls=LocalClusterCommand, short_help="Kill broker N with SIGKILL, as a crash would.")
@broker_argument
@directory_option
def kill(broker_id: int, directory: str) -> None:
    """Kill broker N with SIGKILL, as a crash would.

    The others hear of it when its session with ZooKeeper is over, after zookeeper.session.timeout.ms.
    """
    find_cluster(directory).kill(broker_id)
    say(f"broker {broker_id} was killed; start it again with `strandline cluster start {broker_id} --dir {directory}`")
