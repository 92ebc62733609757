"""Between a request and the group coordinator, whose reply comes at once or much later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from strandline.broker.asking import Asking
from strandline.broker.dispatch import Body, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.groups.replies import Reply

R = TypeVar("R", bound=Reply)


class Response:
    """What a handler gives back: the body if it is there by then, else the promise to send it."""

    __slots__ = ("_body", "_is_parked", "_request")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._body: Body | None = None
        self._is_parked = False

    def put(self, body: Body) -> None:
        if self._is_parked:
            self._request.answer(body)
        else:
            self._body = body

    def now_or_later(self) -> Body | Instead:
        if self._body is not None:
            return self._body
        self._is_parked = True
        return Instead.PARKED


def ask_for_group(
    coordinator: GroupCoordinator,
    request: Request,
    group: str,
    command: Asking[R],
    encode_reply: Callable[[R], Body],
) -> Body | Instead:
    response = Response(request)
    coordinator.ask(group, command, lambda reply: response.put(encode_reply(reply)))
    return response.now_or_later()


def ask_for_groups(
    coordinator: GroupCoordinator,
    request: Request,
    commands: Sequence[tuple[str, Asking[R]]],
    encode_replies: Callable[[Sequence[R]], Body],
) -> Body | Instead:
    response = Response(request)
    coordinator.ask_each(commands, lambda replies: response.put(encode_replies(replies)))
    return response.now_or_later()


def client_host(request: Request) -> str:
    """As Java prints an address, which is how Kafka's tools have always shown it."""
    return f"/{request.connection.peer_host}"
