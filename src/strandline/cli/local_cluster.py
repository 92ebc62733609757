"""What the commands share that start, stop and look at a cluster on this machine."""

from __future__ import annotations

import os
from typing import Any

import click

from strandline.cli.client_options import CLUSTER_DIRECTORY, Failed
from strandline.cli.output import ToolCommand
from strandline.cluster.cluster_plan import ClusterRefused
from strandline.cluster.ports import PortInUse
from strandline.cluster.process import ProcessFailed
from strandline.cluster.process_cluster import ProcessCluster
from strandline.cluster.zookeeper_installation import NotInstalled

directory_option = click.option(
    "--dir",
    "directory",
    metavar="DIR",
    default=CLUSTER_DIRECTORY,
    show_default=True,
    help="Where all of it lies: data, logs, pids.",
)
broker_argument = click.argument("broker_id", metavar="N", type=click.IntRange(min=0))


class LocalClusterCommand(ToolCommand):
    """Tells in one sentence what cannot be done."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ClusterRefused, NotInstalled, PortInUse, ProcessFailed) as problem:
            raise Failed(str(problem)) from None
        except PermissionError as problem:
            raise Failed(f"{problem.filename} cannot be written: {problem.strerror}. Choose another --dir.") from None


def find_cluster(directory: str) -> ProcessCluster:
    return ProcessCluster.find(directory, java_home=java_home())


def java_home() -> str | None:
    return os.environ.get("JAVA_HOME")


def say(line: str) -> None:
    click.echo(f"{line}.")
