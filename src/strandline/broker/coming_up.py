"""When a broker that has just joined may have clients: once they are told the truth of who leads what, and what is
offline. It waits for the controller's word about every replica of its own, but not for ever.

Clients that know its address come before that, for it listens already: the controller has to reach it. Until it was
told of all topics that the store has, it does not say of any that it does not exist.
"""

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
        self._expected_topics: set[str] | None = None
        self._told: dict[TopicPartition, bool] = {}  # what we were told to do, and whether we could
        image.is_complete = False

    def expect(self, topics: Iterable[str], *, going: Iterable[str] = ()) -> None:
        """To be shown to clients: those that the store has, but for those that go."""
        self._expected_topics = set(topics) - set(going)
        self.look()

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
        if self._expected_topics is None or self._broker_id not in image.brokers:
            return  # who is told of the cluster finds itself in it
        if not image.is_complete:
            image.is_complete = self._up.is_ready or self._expected_topics <= image.topics.keys()
        if self._up.is_ready or not image.is_complete:
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
            self.look()


def _is_true(could: bool | None, shown: PartitionImage, broker_id: int, live: Collection[int]) -> bool:
    """That nobody leads is true where nobody is there who may: of a cluster that starts, the first may be alone."""
    if could is None:
        return False
    if could and shown.leader_id < 0:
        return not any(member in live for member in shown.isr)
    return could or shown.leader_id != broker_id
