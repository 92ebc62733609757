"""Producers as partitions know them, in rows; and the partitions a command looks at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from strandline.cli.output import iso_time
from strandline.cli.reports import Column, Report
from strandline.cli.topic_choice import choose_topics
from strandline.client.cluster import Cluster
from strandline.client.transaction_administration import ProducerView
from strandline.model.partitions import TopicPartition

COLUMNS = (
    Column("topic"),
    Column("partition", is_number=True),
    Column("producer_id", "producer id", is_number=True),
    Column("producer_epoch", "epoch", is_number=True),
    Column("start_offset", "open since offset", is_number=True),
    Column("last_timestamp_ms", "last written"),
    Column("last_sequence", "last sequence", is_number=True, is_wide=True),
    Column("coordinator_epoch", "coordinator epoch", is_number=True, is_wide=True),
)


def producer_row(producer: ProducerView) -> dict[str, Any]:
    return {
        "topic": producer.partition.topic,
        "partition": producer.partition.partition,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.producer_epoch,
        "start_offset": producer.transaction_start_offset,
        "last_timestamp_ms": producer.last_timestamp_ms,
        "last_sequence": producer.last_sequence,
        "coordinator_epoch": producer.coordinator_epoch,
    }


def show_producers(report: Report, producers: Iterable[ProducerView]) -> None:
    """Times as times for people, in milliseconds for programs."""
    rows = [producer_row(producer) for producer in producers]
    if report.is_text:
        rows = [row | {"last_timestamp_ms": _moment(row["last_timestamp_ms"])} for row in rows]
    report.rows(COLUMNS, rows)


def _moment(timestamp_ms: int) -> str | None:
    return None if timestamp_ms < 0 else iso_time(timestamp_ms)


async def partitions_of(cluster: Cluster, topics: Sequence[str], only: Sequence[int] | None) -> list[TopicPartition]:
    """Of all topics, internal ones too, where none is named."""
    return [
        TopicPartition(topic.name, index)
        for topic in await choose_topics(cluster, topics, internal=True)
        for index in topic.partitions
        if only is None or index in only
    ]
