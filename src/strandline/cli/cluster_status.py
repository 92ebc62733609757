"""`strandline cluster status`: the processes of a cluster on this machine, and what the brokers say."""

from __future__ import annotations

from typing import Any

import click

from strandline.cli.local_cluster import LocalClusterCommand, directory_option, find_cluster
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cluster.status import ClusterStatus, ProcessStatus, status_of

COLUMNS = (
    Column("process"),
    Column("state"),
    Column("pid", is_number=True),
    Column("address"),
    Column("is_controller", "controller"),
    Column("leads", "partitions led", is_number=True),
    Column("under_replicated", "under-replicated", is_number=True),
    Column("log", is_wide=True),
)


@click.command(cls=LocalClusterCommand, short_help="Show the processes of a cluster on this machine.")
@directory_option
@report_format_option
def status(directory: str, output_format: str) -> None:
    """Show the processes of a cluster on this machine.

    And, if a broker answers, what each leads, and how much of that is under-replicated. A broker that was killed
    counts as a member until its session with ZooKeeper is over. `cluster health` says what is wrong, by its exit code
    too.
    """
    cluster = find_cluster(directory)
    found = status_of(cluster)
    rows = [
        *(_row(status) for status in found.zookeepers),
        *(_broker_row(found, broker_id, status) for broker_id, status in found.brokers.items()),
    ]
    facts = {
        "directory": directory,
        "state": found.word,
        "bootstrap": cluster.bootstrap,
        "zookeeper": cluster.connect,
        "controller": None if found.view is None or found.view.controller_id < 0 else found.view.controller_id,
    }
    Report(output_format).facts_and_rows(facts, "processes", COLUMNS, rows)


def _row(status: ProcessStatus, broker_id: int | None = None) -> dict[str, Any]:
    return {
        "process": status.title,
        "broker": broker_id,
        "state": status.state.value,
        "pid": status.pid,
        "address": status.address,
        "is_controller": None,
        "leads": None,
        "under_replicated": None,
        "log": status.log_path,
    }


def _broker_row(found: ClusterStatus, broker_id: int, status: ProcessStatus) -> dict[str, Any]:
    row = _row(status, broker_id)
    led = found.led_by(broker_id)
    if found.view is None or led is None:
        return row
    leads, under_replicated = led
    return row | {
        "is_controller": found.view.controller_id == broker_id,
        "leads": leads,
        "under_replicated": under_replicated,
    }
