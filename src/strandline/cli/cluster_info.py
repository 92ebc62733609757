"""`strandline cluster info`: the brokers there are."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.reports import Column, Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings
from strandline.client.view import ClusterView

COLUMNS = (
    Column("broker", is_number=True),
    Column("host"),
    Column("port", is_number=True),
    Column("rack"),
    Column("leads", "partitions led", is_number=True),
    Column("replicas", is_number=True),
    Column("out_of_sync", "out of sync", is_number=True, is_wide=True),
    Column("is_controller", "controller"),
)


@click.command(cls=ClientCommand, short_help="Show the brokers, and what each leads and holds.")
@report_format_option
def info(output_format: str, settings: ClientSettings) -> None:
    """Show the brokers, and what each leads and holds."""

    async def work(cluster: Cluster) -> ClusterView:
        return await cluster.refresh(None)

    view = run(settings, work)
    facts = {
        "cluster": view.cluster_id,
        "controller": view.controller_id if view.controller_id in view.nodes else None,
        "brokers": len(view.nodes),
        "topics": len(view.topics),
        "partitions": sum(len(topic.partitions) for topic in view.topics.values()),
    }
    Report(output_format).facts_and_rows(facts, "broker_list", COLUMNS, _rows(view))


def _rows(view: ClusterView) -> list[dict[str, Any]]:
    partitions = [partition for topic in view.topics.values() for partition in topic.partitions.values()]
    leads = Counter(partition.leader_id for partition in partitions)
    holds = Counter(broker for partition in partitions for broker in partition.replicas)
    in_sync = Counter(broker for partition in partitions for broker in partition.in_sync)
    return [
        {
            "broker": node.node_id,
            "host": node.address.host,
            "port": node.address.port,
            "rack": node.rack,
            "leads": leads[node.node_id],
            "replicas": holds[node.node_id],
            "out_of_sync": holds[node.node_id] - in_sync[node.node_id],
            "is_controller": node.node_id == view.controller_id,
        }
        for node in sorted(view.nodes.values())
    ]
