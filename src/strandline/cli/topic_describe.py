"""`strandline topic describe`: summary, partitions and settings of topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from strandline.cli.client_options import ClientCommand
from strandline.cli.config_rows import CONFIG_COLUMNS, config_row
from strandline.cli.partition_rows import (
    AT_MIN,
    OFFLINE,
    PARTITION_COLUMNS,
    UNDER_MIN,
    UNDER_REPLICATED,
    min_in_sync_of,
    offsets_of,
    partition_row,
    record_count,
    states_of,
)
from strandline.cli.replica_rows import REPLICA_COLUMNS, leader_end_of, replica_row
from strandline.cli.reports import Column, Report, Row, report_format_option
from strandline.cli.running import run
from strandline.cli.topic_choice import choose_topics, regex_option
from strandline.cli.topic_list import topic_row
from strandline.client.cluster import Cluster
from strandline.client.configs import Resource, ResourceType, describe_many_configs
from strandline.client.replicas import Replica, describe_replicas
from strandline.client.settings import ClientSettings
from strandline.client.view import PartitionView, TopicView
from strandline.model.partitions import TopicPartition

COLUMNS = (
    *PARTITION_COLUMNS[1:-1],
    Column("start", is_number=True),
    Column("stable", is_number=True, is_wide=True),
    Column("high_watermark", "high watermark", is_number=True),
    Column("end", is_number=True, is_wide=True),
    PARTITION_COLUMNS[-1],
)


Command = TypeVar("Command", bound=Callable[..., object])


def filter_option(name: str, name_in_kafka: str, says: str) -> Callable[[Command], Command]:
    return click.option(name, name_in_kafka, name.removeprefix("--").replace("-", "_"), is_flag=True, help=says)


@click.command(cls=ClientCommand, short_help="Show summary, partitions and settings of topics.")
@click.argument("topics", nargs=-1, metavar="[TOPIC]...")
@regex_option
@click.option("-s", "--summary", is_flag=True, help="Only the summary, unless other parts are asked for.")
@click.option("-c", "--configs", is_flag=True, help="The settings that are not defaults, and where they come from.")
@click.option("-p", "--partitions", is_flag=True, help="The partitions.")
@click.option("-R", "--replicas", is_flag=True, help="Each replica: how far it is, and why it is not in sync.")
@click.option("-a", "--all", "everything", is_flag=True, help="All parts, and all settings.")
@click.option(
    "--under-replicated",
    "--under-replicated-partitions",
    "under_replicated",
    is_flag=True,
    help="Only partitions with replicas that are not in sync.",
)
@click.option(
    "--under-min-isr",
    "--under-min-isr-partitions",
    "under_min_isr",
    is_flag=True,
    help="Only partitions with too few in sync to be written with acks=all.",
)
@click.option(
    "--at-min-isr",
    "--at-min-isr-partitions",
    "at_min_isr",
    is_flag=True,
    help="Only partitions that would be lost to writers with one replica more.",
)
@click.option(
    "--offline", "--unavailable-partitions", "offline", is_flag=True, help="Only partitions without a leader."
)
@report_format_option
def describe(
    topics: tuple[str, ...],
    regex: bool,
    summary: bool,
    configs: bool,
    partitions: bool,
    replicas: bool,
    everything: bool,
    under_replicated: bool,
    under_min_isr: bool,
    at_min_isr: bool,
    offline: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Show summary, partitions and settings of topics.

    Without TOPIC, of all topics. -s, -c, -p and -R choose parts; summary and partitions are shown unless one is
    chosen.
    """
    given = {UNDER_REPLICATED: under_replicated, UNDER_MIN: under_min_isr, AT_MIN: at_min_isr, OFFLINE: offline}
    states = {state for state, is_wanted in given.items() if is_wanted}
    parts = {
        "summary": summary or everything or not (configs or partitions or replicas or states),
        "partitions": partitions or everything or bool(states) or not (configs or summary or replicas),
        "replicas": replicas or everything,
        "configs": configs or everything,
    }

    async def work(cluster: Cluster) -> list[dict[str, Any]]:
        chosen = await choose_topics(cluster, topics, regex=regex)
        return await _describe(cluster, chosen, states, parts, every_config=everything)

    report = Report(output_format)
    described = run(settings, work)
    if report.is_text:
        _tell(report, described, parts)
    else:
        report.rows((), [_without(topic, parts) for topic in described])


async def _describe(
    cluster: Cluster, topics: list[TopicView], states: set[str], parts: dict[str, bool], *, every_config: bool
) -> list[dict[str, Any]]:
    minimums = await min_in_sync_of(cluster, topics)
    chosen = {
        topic.name: [
            view
            for view in topic.partitions.values()
            if not states or states & set(states_of(view, minimums[topic.name]))
        ]
        for topic in topics
    }
    places = [TopicPartition(name, view.index) for name, views in chosen.items() for view in views]
    offsets = await offsets_of(cluster, places)
    replica_rows = await _replica_rows(cluster, chosen) if parts["replicas"] else {}
    resources = [Resource(ResourceType.TOPIC, topic.name) for topic in topics]
    configs = await describe_many_configs(cluster, resources) if parts["configs"] and resources else {}
    described = []
    for topic in topics:
        if states and not chosen[topic.name]:
            continue
        rows = [
            partition_row(topic.name, view, minimums[topic.name]) | offsets[TopicPartition(topic.name, view.index)]
            for view in chosen[topic.name]
        ]
        of_topic = configs.get(Resource(ResourceType.TOPIC, topic.name), [])
        described.append(
            topic_row(topic)
            | {"records": sum(record_count(row) or 0 for row in rows), "partition_list": rows}
            | {"replica_list": replica_rows.get(topic.name, [])}
            | {"configs": [config_row(config) for config in of_topic if every_config or not config.is_default]}
        )
    return described


async def _replica_rows(cluster: Cluster, chosen: dict[str, list[PartitionView]]) -> dict[str, list[dict[str, Any]]]:
    views = {TopicPartition(topic, view.index): view for topic, of_topic in chosen.items() for view in of_topic}
    by_partition: dict[TopicPartition, list[Replica]] = {name: [] for name in views}
    for replica in await describe_replicas(cluster, views):
        by_partition[replica.partition].append(replica)
    rows: dict[str, list[dict[str, Any]]] = {topic: [] for topic in chosen}
    for name, replicas in by_partition.items():
        leader_end = leader_end_of(replicas, views[name])
        rows[name.topic] += [replica_row(replica, views[name], leader_end) for replica in replicas]
    return rows


def _tell(report: Report, described: list[dict[str, Any]], parts: dict[str, bool]) -> None:
    for number, topic in enumerate(described):
        if number:
            report.line("")
        report.facts({key: topic[key] for key in ("topic", "topic_id", "partitions", "replicas", "records")})
        if parts["partitions"]:
            report.line("")
            report.rows(COLUMNS, topic["partition_list"])
        if parts["replicas"]:
            report.line("")
            report.rows(REPLICA_COLUMNS, topic["replica_list"])
        if parts["configs"]:
            report.line("")
            report.rows(CONFIG_COLUMNS, topic["configs"])


def _without(topic: dict[str, Any], parts: dict[str, bool]) -> Row:
    left_out = {"partition_list"} if not parts["partitions"] else set()
    left_out |= {"replica_list"} if not parts["replicas"] else set()
    left_out |= {"configs"} if not parts["configs"] else set()
    return {key: value for key, value in topic.items() if key not in left_out}
