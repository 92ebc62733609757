"""Records that a query was to read and cannot: what happened to them, and what to do.

Offsets without a record are no loss where the log still begins below them: compaction took a record whose key has a
newer one, or the offset went to a transaction's marker or to an aborted transaction (`offset_gaps` counts these). Loss
is when the log begins later than where we wanted to read (retention, DeleteRecords), ends earlier (the topic was
deleted and created anew, or an unclean election cut it), or is not there at all.
"""

from __future__ import annotations

import logging

from strandline.model.partitions import TopicPartition
from strandline.spark.failures import DataLoss

logger = logging.getLogger("strandline.spark")

UNLIMITED = "-1"
NEXT_STEP = 'set the option failOnDataLoss to "false" to go on with what is there'


class LossReporter:
    """`failOnDataLoss`: end the query, or go on and say so in the log of the process."""

    def __init__(self, *, is_fatal: bool) -> None:
        self.is_fatal = is_fatal

    def report(self, sentence: str) -> None:
        if self.is_fatal:
            raise DataLoss(f"{sentence}; {NEXT_STEP}")
        logger.warning("%s; going on, because failOnDataLoss is false", sentence)


def describe_aged_out(partition: TopicPartition, offset: int, log_start: int, settings: dict[str, str]) -> str:
    """The log begins above the offset."""
    lost = f"{partition} begins at offset {log_start} now, and {offset} to {log_start - 1} were not read"
    policy = settings.get("cleanup.policy", "delete")
    if "delete" not in policy:
        return f"{lost}: somebody deleted records (cleanup.policy={policy} has no retention)"
    set_limits = {name: settings[name] for name in ("retention.ms", "retention.bytes") if name in settings}
    if set_limits and set(set_limits.values()) == {UNLIMITED}:
        return f"{lost}: somebody deleted records (retention.ms and retention.bytes take none)"
    limits = ", ".join(f"{name}={value}" for name, value in set_limits.items() if value != UNLIMITED)
    return f"{lost}: retention took them{f' ({limits})' if limits else ''}, or somebody deleted records"


def describe_cut_off(partition: TopicPartition, offset: int, log_end: int) -> str:
    """The log ends below the offset."""
    return (
        f"{partition} ends at offset {log_end} now, and offset {offset} was reached before: the topic was deleted and"
        " created anew, or an unclean leader election cut its log"
    )


def describe_gone(partitions: list[TopicPartition], existing_topics: set[str]) -> str:
    names = ", ".join(map(str, sorted(partitions)))
    verb = "is" if len(partitions) == 1 else "are"
    topics = sorted({partition.topic for partition in partitions} - existing_topics)
    if topics:
        deleted = f"topic {topics[0]} was" if len(topics) == 1 else f"topics {', '.join(topics)} were"
        return f"{names} {verb} gone: {deleted} deleted"
    return f"{names} {verb} gone: the topic was deleted and created anew with fewer partitions, or is not subscribed to"


def describe_late_start(partition: TopicPartition, log_start: int) -> str:
    return (
        f"the new partition {partition} begins at offset {log_start} instead of 0: retention took records, or somebody"
        " deleted them, before the query saw it"
    )
