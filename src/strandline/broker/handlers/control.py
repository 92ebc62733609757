"""LeaderAndIsr, StopReplica and UpdateMetadata: the controller's word, which comes from brokers only.

Every one of them carries our broker epoch, which is in the metadata store and in nothing that a client is ever told:
who does not know it is no broker of this cluster, and is refused (`ControllerFence`).

While we cannot ask the store, how the logs of a new topic are to be kept say, there is no answer: the controller will
ask again, if by then it still has the same broker before it.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from strandline.broker.dispatch import Handler, Request
from strandline.broker.procedures import by_procedure
from strandline.metadata.answer import Answer
from strandline.metadata.errors import StoreError
from strandline.model.failures import ProtocolError
from strandline.wire.codec import decode, encode
from strandline.wire.layout import Message


def control_handler(
    request_class: type[Message], apply: Callable[[Message], Coroutine[Answer[Any], None, Message]]
) -> Handler:
    async def answer(request: Request) -> bytes:
        asked = decode(request_class, request.api_version, request.body)
        try:
            return encode(await apply(asked), request.api_version)
        except StoreError as failure:
            raise ProtocolError(f"the metadata store does not answer: {failure}") from failure

    return by_procedure(answer)
