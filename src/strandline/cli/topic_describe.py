"""`strandline topic describe`: summary, partitions and settings of topics."""

from __future__ import annotations

from typing import Any

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
from strandline.cli.reports import Column, Report, Row, report_format_option
from strandline.cli.running import run
from strandline.cli.topic_choice import choose_topics, regex_option
from strandline.cli.topic_list import topic_row
from strandline.client.cluster import Cluster
from strandline.client.configs import Resource, ResourceType, describe_many_configs
from strandline.client.settings import ClientSettings
from strandline.client.view import TopicView
from strandline.model.partitions import TopicPartition

COLUMNS = (
    *PARTITION_COLUMNS[1:-1],
    Column("start", is_number=True),
    Column("stable", is_number=True, is_wide=True),
    Column("high_watermark", "high watermark", is_number=True),
    Column("end", is_number=True, is_wide=True),
    PARTITION_COLUMNS[-1],
)


@click.command(cls=ClientCommand, short_help="Show summary, partitions and settings of topics.")
@click.argument("topics", nargs=-1, metavar="[TOPIC]...")
@regex_option
@click.option("-s", "--summary", is_flag=True, help="Only the summary, unless other parts are asked for.")
@click.option("-c", "--configs", is_flag=True, help="The settings that are not defaults, and where they come from.")
@click.option("-p", "--partitions", is_flag=True, help="The partitions.")
@click.option("-a", "--all", "everything", is_flag=True, help="All parts, and all settings.")
@click.option("--under-replicated", is_flag=True, help="Only partitions with replicas that are not in sync.")
@click.option("--under-min-isr", is_flag=True, help="Only partitions with too few in sync to be written with acks=all.")
@click.option("--at-min-isr", is_flag=True, help="Only partitions that would be lost to writers with one replica more.")
@click.option("--offline", is_flag=True, help="Only partitions without a leader.")
@report_format_option
def describe(
    topics: tuple[str, ...],
    regex: bool,
    summary: bool,
    configs: bool,
    partitions: bool,
    everything: bool,
    under_replicated: bool,
    under_min_isr: bool,
    at_min_isr: bool,
    offline: bool,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Show summary, partitions and settings of topics.

    Without TOPIC, of all topics. -s, -c and -p choose parts; summary and partitions are shown unless one is chosen.
    """
    given = {UNDER_REPLICATED: under_replicated, UNDER_MIN: under_min_isr, AT_MIN: at_min_isr, OFFLINE: offline}
    states = {state for state, is_wanted in given.items() if is_wanted}
    parts = {
        "summary": summary or everything or not (configs or partitions or states),
        "partitions": partitions or everything or bool(states) or not (configs or summary),
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
            | {"configs": [config_row(config) for config in of_topic if every_config or not config.is_default]}
        )
    return described


def _tell(report: Report, described: list[dict[str, Any]], parts: dict[str, bool]) -> None:
    for number, topic in enumerate(described):
        if number:
            report.line("")
        report.facts({key: topic[key] for key in ("topic", "topic_id", "partitions", "replicas", "records")})
        if parts["partitions"]:
            report.line("")
            report.rows(COLUMNS, topic["partition_list"])
        if parts["configs"]:
            report.line("")
            report.rows(CONFIG_COLUMNS, topic["configs"])


def _without(topic: dict[str, Any], parts: dict[str, bool]) -> Row:
    left_out = {"partition_list"} if not parts["partitions"] else set()
    left_out |= {"configs"} if not parts["configs"] else set()
    return {key: value for key, value in topic.items() if key not in left_out}
