"""The internal topics of coordinators, made when the cluster has formed rather than when a client first asks.

Kafka makes them on first use. A small cluster that has lost a broker by then has no place for as many replicas as they
are to have, and its first group waits in vain. Where `strandline.internal.topics.early` is set, the controller makes
them in the background, as soon as there are brokers enough.
"""

from __future__ import annotations

import logging

from strandline.broker.cluster_image import CONSUMER_OFFSETS, TRANSACTION_STATE, ClusterImage
from strandline.broker.controller_loop import ControllerLoop
from strandline.broker.host import Host, Timer
from strandline.broker.procedures import begin
from strandline.broker.topic_administration import TopicAdministration
from strandline.metadata.errors import StoreError
from strandline.model.failures import Refused, StorageFailed

logger = logging.getLogger(__name__)

TOPICS = (CONSUMER_OFFSETS, TRANSACTION_STATE)
LOOK_MS = 100


class EarlyTopics:
    def __init__(self, loop: ControllerLoop, topics: TopicAdministration, image: ClusterImage, host: Host) -> None:
        self._loop = loop
        self._topics = topics
        self._image = image
        self._host = host
        self._timer: Timer | None = None
        self._is_open = True

    def start(self) -> None:
        """On every broker, once it serves: whoever is controller makes them, and the others look whether it has."""
        if self._is_open and self._missing():
            self._timer = self._host.call_later(LOOK_MS, lambda: begin(self._look()))

    def close(self) -> None:
        self._is_open = False
        if self._timer is not None:
            self._timer.cancel()

    def _missing(self) -> list[str]:
        return [topic for topic in TOPICS if topic not in self._image.topics]

    async def _look(self) -> None:
        if self._loop.holds_office:
            try:
                await self._topics.create_topics_by_default(self._missing())
            except (Refused, StoreError, StorageFailed) as failure:
                logger.debug("no internal topics yet: %s", failure)
        self.start()
