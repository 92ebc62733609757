"""When a broker that has just joined may have clients: once they are told the truth of who leads what, and what is
offline. It waits for the controller's word about every replica of its own, but not for ever."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from strandline.broker.cluster_image import ClusterImage, PartitionImage
from strandline.broker.host import Host
from strandline.metadata.answer import Answer
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse

logger = logging.getLogger(__name__)

JOIN_TIMEOUT_MS = 15_000


class ComingUp:
    def __init__(self, broker_id: int, image: ClusterImage, host: Host) -> None:
        self._broker_id = broker_id
        self._image = image
        self._host = host
        self._up: Answer[None] = Answer()
        self._expected_topics: set[str] = set()
        self._told: dict[TopicPartition, bool] = {}  # what we were told to do, and whether we could

    def expect(self, topics: Iterable[str]) -> None:
        """To be shown to clients: those that the store has."""
        self._expected_topics = set(topics)

    def do_not_expect(self, topics: Iterable[str]) -> None:
        """Those that go."""
        self._expected_topics.difference_update(topics)

    async def over(self) -> None:
        timer = self._host.call_later(JOIN_TIMEOUT_MS, self._give_up_waiting)
        await self._up
        timer.cancel()

    def was_ordered(self, asked: LeaderAndIsrRequest, response: LeaderAndIsrResponse) -> None:
        if self._up.is_ready:
            return
        names = {topic.topic_id: topic.topic_name for topic in asked.topic_states}
        for topic in response.topics:
            for each in topic.partition_errors:
                self._told[TopicPartition(names[topic.topic_id], each.partition_index)] = each.error_code == 0
        self.look()

    def look(self) -> None:
        """The image of the cluster may have changed."""
        image = self._image
        if (
            self._up.is_ready
            or self._broker_id not in image.brokers
            or not self._expected_topics <= image.topics.keys()
        ):
            return
        ours = [
            (self._told.get(TopicPartition(topic.name, index)), partition)
            for topic in image.topics.values()
            for index, partition in topic.partitions.items()
            if self._broker_id in partition.replicas
        ]
        if all(_is_true(could, partition, self._broker_id, image.brokers) for could, partition in ours):
            self._up.deliver(None)

    def _give_up_waiting(self) -> None:
        if not self._up.is_ready:
            logger.warning("the controller has not told this broker everything yet; it serves what it can")
            self._up.deliver(None)


def _is_true(could: bool | None, shown: PartitionImage, broker_id: int, live: Collection[int]) -> bool:
    """That nobody leads is true where nobody is there who may: of a cluster that starts, the first may be alone."""
    if could is None:
        return False
    if could and shown.leader_id < 0:
        return not any(member in live for member in shown.isr)
    return could or shown.leader_id != broker_id
