"""What lies between two offsets of a query: partitions that came, that went, and that are not what they were."""

from __future__ import annotations

from typing import Any

from strandline.spark.data_loss import LossReporter, describe_cut_off, describe_gone, describe_late_start
from strandline.spark.failures import ReadFailed
from strandline.spark.offsets_json import PartitionOffsets, from_topics
from strandline.spark.range_planning import OffsetRange
from strandline.spark.source_options import Subscription
from strandline.spark.topic_offsets import TopicOffsets


def check_checkpoint(start: dict[str, Any]) -> PartitionOffsets:
    """The offsets that Spark kept for us, if they are ours."""
    try:
        return from_topics(start)
    except (AttributeError, TypeError, ValueError):
        raise ReadFailed(
            f"the checkpoint holds the offset {start!r}, which another source wrote: give this query a"
            " checkpointLocation of its own"
        ) from None


def new_beginnings(
    topic_offsets: TopicOffsets, start: PartitionOffsets, until: PartitionOffsets, loss: LossReporter
) -> PartitionOffsets:
    """Partitions that the query has not seen yet are read from their beginning, whatever startingOffsets said."""
    beginnings = topic_offsets.earliest(until.keys() - start.keys())
    for partition, offset in beginnings.items():
        if offset:
            loss.report(describe_late_start(partition, offset))
    return beginnings


def report_gone(
    topic_offsets: TopicOffsets,
    subscription: Subscription,
    start: PartitionOffsets,
    end: PartitionOffsets,
    loss: LossReporter,
) -> None:
    gone = sorted(start.keys() - end.keys())
    if not gone:
        return
    topics = {each.topic for each in gone}
    foreign = sorted(topics - set(subscription.topics)) if subscription.topics else []
    if foreign:
        loss.report(
            f"the checkpoint is of topics that this query does not read ({', '.join(foreign)}; it reads"
            f" {subscription}): another query wrote it, or the option subscribe was changed"
        )
    else:
        loss.report(describe_gone(gone, topic_offsets.existing_topics(topics)))


def ranges_between(
    topic_offsets: TopicOffsets,
    subscription: Subscription,
    start: PartitionOffsets,
    end: PartitionOffsets,
    loss: LossReporter,
) -> list[OffsetRange]:
    report_gone(topic_offsets, subscription, start, end, loss)
    begin = start | new_beginnings(topic_offsets, start, end, loss)
    ranges = []
    for partition in sorted(end):
        if end[partition] < begin[partition]:
            loss.report(describe_cut_off(partition, begin[partition], end[partition]))
        ranges.append(OffsetRange(partition, begin[partition], end[partition]))
    return ranges
