"""`strandline cluster down`: the brokers, then ZooKeeper."""

from __future__ import annotations

import click

from strandline.cli.local_cluster import LocalClusterCommand, directory_option, find_cluster, say


@click.command(cls=LocalClusterCommand, short_help="Stop all of a cluster on this machine; its data stays.")
@directory_option
def down(directory: str) -> None:
    """Stop all of a cluster on this machine; its data stays.

    First the brokers, then ZooKeeper. `cluster up` starts it again.
    """
    cluster = find_cluster(directory)
    if all(process.pid is None for process in cluster.processes):
        click.echo(f"Nothing of the cluster in {directory} runs.")
        return
    cluster.down(say)
