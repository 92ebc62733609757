"""`strandline cluster stop`: one broker, in order."""

from __future__ import annotations

import click

from strandline.cli.local_cluster import (
    LocalClusterCommand,
    broker_argument,
    directory_option,
    find_cluster,
    say,
)


@click.command(cls=LocalClusterCommand, short_help="Stop broker N in order: a controlled shutdown.")
@broker_argument
@directory_option
def stop(broker_id: int, directory: str) -> None:
    """Stop broker N in order: a controlled shutdown.

    Others take over what it leads. Its data stays; `cluster start` has it back.
    """
    find_cluster(directory).stop(broker_id, say)
