"""Between a request and the transaction coordinator, whose reply comes at once or later."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from strandline.broker.asking import Asking
from strandline.broker.dispatch import Body, Instead, Request
from strandline.broker.group_requests import Response
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.transactions.replies import Reply

R = TypeVar("R", bound=Reply)


def ask_for_transaction(
    coordinator: TransactionCoordinator,
    request: Request,
    transactional_id: str,
    command: Asking[R],
    encode_reply: Callable[[R], Body],
) -> Body | Instead:
    response = Response(request)
    coordinator.ask(transactional_id, command, lambda reply: response.put(encode_reply(reply)))
    return response.now_or_later()
