"""Topic partitions and the folders that hold them.

A partition lives in `<topic>-<partition>`; one being deleted in `<topic>-<partition>.<32 hex digits>-delete`,
one being moved between log directories in `<topic>-<partition>.<32 hex digits>-future`; one of no topic that the
cluster knows, kept for somebody to look at, in `<topic>-<partition>.<32 hex digits>-stray`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from strandline.model.failures import ErrorCode, Refused

TOPIC_NAME_LENGTH_MAX = 249
FOLDER_NAME_LENGTH_MAX = 255
PARTITION_MAX = 2**31 - 1
LEGAL_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
PARTITION_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>0|[1-9][0-9]{0,9})")
DELETED_FOLDER = re.compile(r"(?P<name>\S+)-(?P<partition>\S+)\.(?P<token>[0-9a-f]{32})-delete")
FUTURE_FOLDER = re.compile(r"(?P<name>\S+)-(?P<partition>\S+)\.(?P<token>[0-9a-f]{32})-future")
MOVED_FOLDER = re.compile(r"\S+-[0-9]+\.[0-9a-f]{32}-(delete|stray)")


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def is_topic_name(topic: str) -> bool:
    if topic in (".", "..") or len(topic) > TOPIC_NAME_LENGTH_MAX:
        return False
    return LEGAL_TOPIC_NAME.fullmatch(topic) is not None


def check_topic_name(topic: str) -> None:
    """Refuse what could not be a folder name, or would leave the data directory (`../x`)."""
    if not is_topic_name(topic):
        raise Refused(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"{topic[:80]!r} is not a topic name: use 1 to {TOPIC_NAME_LENGTH_MAX} of a-z A-Z 0-9 . _ -",
        )


def parse_partition_folder(name: str) -> TopicPartition | None:
    """The partition whose folder has this name, or None where the folder is not a partition's."""
    match = PARTITION_FOLDER.fullmatch(name)
    if match is None or not is_topic_name(match["topic"]) or int(match["partition"]) > PARTITION_MAX:
        return None
    return TopicPartition(match["topic"], int(match["partition"]))


def deleted_folder(partition: TopicPartition, token: str) -> str:
    """Where a partition goes on removal. Long topic names are cut to keep the name legal, as Kafka does."""
    return _folder_with(partition, f"{token}-delete")


def stray_folder(partition: TopicPartition, token: str) -> str:
    return _folder_with(partition, f"{token}-stray")


def _folder_with(partition: TopicPartition, end: str) -> str:
    suffix = f"-{partition.partition}.{end}"
    return partition.topic[: FOLDER_NAME_LENGTH_MAX - len(suffix)] + suffix
