"""The partitions of this broker, by topic name and by topic id, and who among them may answer."""

from __future__ import annotations

from collections.abc import Iterator

from strandline.broker.partition import Partition
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import TopicPartition

TopicPartitions = dict[int, Partition]
NO_PARTITIONS: TopicPartitions = {}


class Partitions:
    __slots__ = ("by_id", "by_name")

    def __init__(self) -> None:
        # Two steps instead of one key: a request has its partitions by topic.
        self.by_name: dict[str, TopicPartitions] = {}
        self.by_id: dict[bytes, TopicPartitions] = {}

    def add(self, partition: Partition) -> None:
        of_topic = self.by_name.setdefault(partition.name.topic, {})
        of_topic[partition.name.partition] = partition
        self.by_id[partition.topic_id] = of_topic

    def remove(self, partition: Partition) -> None:
        of_topic = self.by_name.get(partition.name.topic, {})
        if of_topic.get(partition.name.partition) is partition:
            del of_topic[partition.name.partition]
        if not of_topic:
            self.by_name.pop(partition.name.topic, None)
            self.by_id.pop(partition.topic_id, None)

    def remove_topic(self, topic: str) -> list[Partition]:
        removed = list(self.by_name.pop(topic, {}).values())
        for partition in removed:
            self.by_id.pop(partition.topic_id, None)
        return removed

    def find(self, name: TopicPartition) -> Partition | None:
        return self.by_name.get(name.topic, {}).get(name.partition)

    def __iter__(self) -> Iterator[Partition]:
        for of_topic in list(self.by_name.values()):
            yield from list(of_topic.values())

    def leader_of(self, topic: str, index: int, current_leader_epoch: int = -1) -> Partition:
        partition = self.by_name.get(topic, {}).get(index)
        if partition is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"this broker has no {topic}-{index}")
        partition.check_leader(current_leader_epoch)
        return partition
