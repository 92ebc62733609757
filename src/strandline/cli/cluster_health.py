"""`strandline cluster health`: what is wrong, if anything is (SPEC T6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.event_lines import INTERNAL_TOPICS
from strandline.cli.output import EXIT_FAULT, counted
from strandline.cli.partition_rows import PARTITION_COLUMNS, min_in_sync_of, partition_row
from strandline.cli.reports import Report, report_format_option
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.settings import ClientSettings


@click.command(cls=ClientCommand, short_help="Say what is wrong with the cluster; exit 1 if anything is.")
@click.option("-i", "--internal", is_flag=True, help="Each partition of internal topics, not all of them in a line.")
@report_format_option
def health(internal: bool, output_format: str, settings: ClientSettings) -> None:
    """Say what is wrong with the cluster; exit 1 if anything is.

    Partitions without a leader, with too few replicas in sync for acks=all, or with replicas that are not in sync; and
    brokers that hold replicas and are not there.
    """

    async def work(cluster: Cluster) -> dict[str, Any]:
        view = await cluster.refresh(None)
        topics = list(view.topics.values())
        minimums = await min_in_sync_of(cluster, topics)
        rows = [
            partition_row(topic.name, partition, minimums[topic.name])
            for topic in topics
            for partition in topic.partitions.values()
        ]
        missing = {broker for row in rows for broker in row["replicas"]} - view.nodes.keys()
        bad = [row for row in rows if row["problem"]]
        return {
            "is_healthy": not bad and not missing,
            "brokers": len(view.nodes),
            "missing_brokers": sorted(missing),
            "partitions": len(rows),
            "bad_partitions": bad,
        }

    found = run(settings, work)
    report = Report(output_format)
    if report.is_text:
        _tell(report, found, frozenset() if internal else INTERNAL_TOPICS)
    else:
        report.facts(found)
    if not found["is_healthy"]:
        click.get_current_context().exit(EXIT_FAULT)


def _tell(report: Report, found: dict[str, Any], collapsed: Collection[str]) -> None:
    size = f"{counted(found['brokers'], 'broker')}, {counted(found['partitions'], 'partition')}"
    if found["is_healthy"]:
        report.line(f"Healthy: {size}.")
        return
    missing = found["missing_brokers"]
    gone = f"; missing: broker {', '.join(map(str, missing))}" if missing else ""
    report.line(f"Not healthy: {size}, {len(found['bad_partitions'])} with a problem{gone}.")
    shown = [row for row in found["bad_partitions"] if row["topic"] not in collapsed]
    if shown:
        report.line("")
        report.rows(PARTITION_COLUMNS, shown)
    problems = Counter((row["topic"], row["problem"]) for row in found["bad_partitions"] if row["topic"] in collapsed)
    if problems:
        report.line("")
    for (topic, problem), count in problems.items():
        report.line(f"{counted(count, 'partition')} of {topic}: {problem}")
