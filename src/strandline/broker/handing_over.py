"""A broker that is about to stop has its leaderships taken away first, so that clients need not wait (SPEC R6).

It asks the controller (ControlledShutdown), which may be itself, and goes on serving meanwhile. What it leads and
nobody can take yet it asks for again, after a pause. It does not ask where asking is of no use: nobody else is there,
or the store does not answer, without which no controller can decide anything (KAFKA-9189).

The pauses end early when something has changed: another controller, other brokers, the store.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.host import Host
from strandline.broker.peers import PeerFailed, Peers, Purpose
from strandline.broker.procedures import pause
from strandline.broker.shutdown_settings import ShutdownSettings
from strandline.metadata.answer import Answer
from strandline.model.failures import ErrorCode
from strandline.wire.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse

logger = logging.getLogger(__name__)

CONTROLLED_SHUTDOWN_VERSION = 3
LOOK_MS = 50


class Surroundings(NamedTuple):
    """If they change, the answer may change too."""

    controller_id: int
    live_brokers: Mapping[int, int]
    is_store_answering: bool


class HandingOver:
    def __init__(
        self,
        broker_id: int,
        broker_epoch: Callable[[], int],
        image: ClusterImage,
        live_brokers: Mapping[int, int],
        is_store_answering: Callable[[], bool],
        peers: Peers,
        host: Host,
    ) -> None:
        self._broker_id = broker_id
        self._broker_epoch = broker_epoch
        self._image = image
        self._live_brokers = live_brokers
        self._is_store_answering = is_store_answering
        self._peers = peers
        self._host = host

    async def hand_over(self, settings: ShutdownSettings) -> None:
        """Returns when nothing is left to hand over, or it cannot be helped."""
        if not settings.controlled_shutdown_enable:
            return
        for retries_left in reversed(range(settings.controlled_shutdown_max_retries)):
            before = self._surroundings()
            if not self._is_worth_asking() or await self._ask(settings.controller_socket_timeout_ms):
                return
            if retries_left and self._is_worth_asking():
                await self._pause(before, settings.controlled_shutdown_retry_backoff_ms)
        logger.warning("this broker stops although it leads partitions that nobody could take")

    def _is_worth_asking(self) -> bool:
        return self._is_store_answering() and bool(self._live_brokers.keys() - {self._broker_id})

    async def _ask(self, timeout_ms: int) -> bool:
        """Whether that was all."""
        asked = self._peers.ask(
            self._image.controller_id,
            ControlledShutdownRequest(self._broker_id, self._broker_epoch()),
            ControlledShutdownResponse,
            version=CONTROLLED_SHUTDOWN_VERSION,
            purpose=Purpose.CONTROL,
            timeout_ms=timeout_ms,
        )
        answered_or_given_up: Answer[None] = Answer()
        asked.then(lambda _: _end(answered_or_given_up))
        self._give_up_without_store(answered_or_given_up)
        await answered_or_given_up
        if not asked.is_ready:
            return False
        try:
            response = asked.value()
        except PeerFailed as failure:
            logger.info("controlled shutdown: the controller does not answer: %s", failure)
            return False
        if response.error_code:
            logger.info("controlled shutdown: %s", ErrorCode(response.error_code).name)
        elif response.remaining_partitions:
            logger.info("controlled shutdown: %d partitions are still led here", len(response.remaining_partitions))
        return not response.error_code and not response.remaining_partitions

    def _give_up_without_store(self, waiting: Answer[None]) -> None:
        if waiting.is_ready:
            return
        if self._is_store_answering():
            self._host.call_later(LOOK_MS, lambda: self._give_up_without_store(waiting))
        else:
            _end(waiting)

    async def _pause(self, before: Surroundings, backoff_ms: int) -> None:
        until_ms = self._host.elapsed_ms() + backoff_ms
        while self._host.elapsed_ms() < until_ms and self._surroundings() == before:
            await pause(self._host, LOOK_MS)

    def _surroundings(self) -> Surroundings:
        return Surroundings(self._image.controller_id, dict(self._live_brokers), self._is_store_answering())


def _end(waiting: Answer[None]) -> None:
    if not waiting.is_ready:
        waiting.deliver(None)
