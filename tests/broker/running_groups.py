"""A broker with a topic `orders` of four partitions, and members who speak to it."""

from __future__ import annotations

from tests.broker.group_peer import GroupPeer
from tests.broker.running_broker import RunningBroker

from strandline.model.partitions import TopicPartition

SHORT_SESSION_MS = 200


class RunningGroups(RunningBroker):
    def __init__(self, data: str, **settings: str) -> None:
        quick = {
            "num_partitions": "4",
            "offsets_topic_num_partitions": "3",
            "group_min_session_timeout_ms": str(SHORT_SESSION_MS),
        }
        super().__init__(data, **{**quick, **settings})

    def member(self) -> GroupPeer:
        return GroupPeer(self.address)

    def log_end_offset(self, topic: str, index: int) -> int:
        def ask() -> int:
            partition = self.broker.partitions.find(TopicPartition(topic, index))
            assert partition is not None
            return partition.log.log_end_offset

        return self.call(ask)
