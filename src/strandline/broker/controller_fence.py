"""Whose word counts: that of the newest controller, to the life of this broker that it knows (KAFKA-5642, KIP-380).

A controller that lost its place without noticing goes on sending; a broker that was restarted may get what was meant
for its earlier life, whose replicas it no longer has. Both are told apart by their epochs. Who does not know our epoch
at all is no broker of this cluster.
"""

from __future__ import annotations

from collections.abc import Callable

from strandline.model.failures import ErrorCode

NOT_REGISTERED = -1  # and what requests of versions without broker epochs say


class ControllerFence:
    def __init__(self, broker_epoch: Callable[[], int]) -> None:
        self._broker_epoch = broker_epoch  # of the registration that stands
        self.controller_id = -1
        self.controller_epoch = -1

    def check(self, controller_id: int, controller_epoch: int, broker_epoch: int) -> ErrorCode:
        if broker_epoch != self._broker_epoch() or broker_epoch == NOT_REGISTERED:
            return ErrorCode.STALE_BROKER_EPOCH
        if controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.controller_id, self.controller_epoch = controller_id, controller_epoch
        return ErrorCode.NONE
