"""Creates topics in the simulated cluster, and waits until they are there."""

from __future__ import annotations

from collections.abc import Callable

from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.simulation.client import SimulatedClient
from strandline.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

CREATE_TOPICS_VERSION = 7


class Administrator(SimulatedClient):
    async def create(
        self, topic: str, partitions: int, replication_factor: int, configs: dict[str, str], then: Callable[[], None]
    ) -> None:
        """Whoever is asked and is not the controller says so; the next one is asked."""
        while True:
            wanted = CreatableTopic(
                topic, partitions, replication_factor, [], [CreatableTopicConfig(*each) for each in configs.items()]
            )
            try:
                answer = await self.ask(
                    self.any_broker(),
                    CreateTopicsRequest([wanted], self.request_timeout_ms, False),
                    CreateTopicsResponse,
                    CREATE_TOPICS_VERSION,
                )
            except PeerFailed:
                pass
            else:
                error_code = ErrorCode(answer.topics[0].error_code)
                if error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    break
            await self.pause(self.retry_backoff_ms)
        await self.topic(topic)
        then()
