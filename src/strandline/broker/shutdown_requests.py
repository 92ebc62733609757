"""ControlledShutdown, as the controller answers it: a broker of this cluster wants to go.

Whoever asks must know the epoch under which that broker is registered, which only the broker itself is told.
"""

from __future__ import annotations

from collections.abc import Mapping

from strandline.broker.controller_loop import ControllerLoop
from strandline.broker.controller_office import NotController
from strandline.controller import requests
from strandline.controller.replies import ControlledShutdownReply
from strandline.model.failures import ErrorCode
from strandline.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)


class ShutdownRequests:
    def __init__(self, loop: ControllerLoop, live_brokers: Mapping[int, int]) -> None:
        self._loop = loop
        self._live_brokers = live_brokers

    async def answer(self, asked: ControlledShutdownRequest) -> ControlledShutdownResponse:
        if self._live_brokers.get(asked.broker_id) != asked.broker_epoch:
            return ControlledShutdownResponse(ErrorCode.STALE_BROKER_EPOCH)
        try:
            reply = await self._loop.ask(
                lambda number: requests.ControlledShutdownRequest(
                    request=number, broker_id=asked.broker_id, broker_epoch=asked.broker_epoch
                )
            )
        except NotController:
            return ControlledShutdownResponse(ErrorCode.NOT_CONTROLLER)
        assert isinstance(reply, ControlledShutdownReply)
        remaining = [RemainingPartition(name.topic, name.partition) for name in reply.remaining]
        return ControlledShutdownResponse(reply.error_code, remaining)
