"""`strandline cluster start`: one broker again."""

from __future__ import annotations

import click

from strandline.cli.local_cluster import (
    LocalClusterCommand,
    broker_argument,
    directory_option,
    find_cluster,
    say,
)


@click.command(cls=LocalClusterCommand, short_help="Start broker N again, with its data.")
@broker_argument
@directory_option
def start(broker_id: int, directory: str) -> None:
    """Start broker N again, with its data. Returns when it serves."""
    find_cluster(directory).start(broker_id, say)
