"""Coroutines without an event loop, for what takes several answers of the metadata store to do.

Creating a topic is a write, then more writes, then folders. Written with callbacks that is a chain nobody can read; as
a coroutine that awaits `Answer`s it reads like what it is. `begin` runs one until it has to wait, and goes on when the
answer comes, in the thread that owns everything. No task, no asyncio: in a simulation it runs just the same.

The hot APIs have nothing to wait for here and do not use this.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.host import Host
from strandline.metadata.answer import Answer
from strandline.model.failures import ProtocolError
from strandline.wire.codec import encode
from strandline.wire.layout import Message

logger = logging.getLogger(__name__)

TURN_MS = 5
ITEMS_PER_TURN = 100  # of a response that is encoded here
Item = TypeVar("Item")
Value = TypeVar("Value")
Procedure = Coroutine[Answer[Any], None, Value]


def begin(procedure: Procedure[None], may_end_by: tuple[type[Exception], ...] = ()) -> None:
    """Whatever else it does not catch is our bug: it is logged, and nothing else happens."""

    def ended(outcome: Exception | None) -> None:
        if outcome is not None and not isinstance(outcome, may_end_by):
            logger.error("%s failed", procedure, exc_info=outcome)

    follow(procedure, ended)


def follow(procedure: Procedure[Value], ended: Callable[[Value | Exception], None]) -> None:
    """Go on with it until it has to wait, and again from there. `ended` hears what it returned or raised.

    A coroutine that awaits another one and catches what it raises would do as well, but for one thing: if the answer
    never comes, as in a simulation that is over, both are garbage at once, and Python may end the inner one first and
    then finds the outer one awaiting what is just being ended.
    """
    try:
        answer = procedure.send(None)
    except StopIteration as end:
        ended(end.value)
    except Exception as failure:
        ended(failure)
    else:
        answer.then(lambda _: follow(procedure, ended))


def pause(host: Host, milliseconds: float) -> Answer[None]:
    over: Answer[None] = Answer()
    host.call_later(milliseconds, lambda: over.deliver(None))
    return over


async def all_of(procedures: Iterable[Procedure[Value]]) -> list[Value | Exception]:
    """Run them side by side: what they ask of the store is written in one go. Outcomes in their order."""
    outcomes: dict[int, Value | Exception] = {}
    all_done: Answer[None] = Answer()
    numbered = list(enumerate(procedures))

    def ended(number: int, outcome: Value | Exception) -> None:
        outcomes[number] = outcome
        if len(outcomes) == len(numbered):
            all_done.deliver(None)

    for number, procedure in numbered:
        follow(procedure, partial(ended, number))
    if numbered:
        await all_done
    return [outcomes[number] for number, _ in numbered]


async def each_of(procedures: Iterable[Procedure[Value]]) -> list[Value]:
    """`all_of` where each must succeed: raises the first failure once all have ended."""
    values = []
    for outcome in await all_of(procedures):
        if isinstance(outcome, Exception):
            raise outcome
        values.append(outcome)
    return values


async def in_turns(host: Host, items: Iterable[Item], function: Callable[[Item], Value]) -> list[Value]:
    """For many items of one request: after some milliseconds, others have their turn."""
    values = []
    began_ms = host.elapsed_ms()
    for item in items:
        values.append(function(item))
        if host.elapsed_ms() - began_ms >= TURN_MS:
            await in_thread(host, lambda: None)  # there and back, like any work that a stop waits for
            began_ms = host.elapsed_ms()
    return values


async def encoded(host: Host, message: Message, version: int, items: int) -> bytes:
    """A response; one of many items is encoded in a thread."""
    if items <= ITEMS_PER_TURN:
        return encode(message, version)
    return await in_thread(host, partial(encode, message, version))


async def in_thread(host: Host, work: Callable[[], Value]) -> Value:
    """What blocks, in a thread of the host's; the caller goes on in its own."""
    finished: Answer[Future[Value]] = Answer()
    host.run_in_thread(work, finished.deliver)
    return (await finished).result()


def by_procedure(procedure: Callable[[Request], Procedure[Body]]) -> Handler:
    """A handler that answers when its procedure ends. It decodes the request's body before it first awaits."""

    async def run(request: Request) -> None:
        try:
            body = await procedure(request)
        except ProtocolError as error:
            request.connection.end(str(error))
            request.deliver([])
            return
        except Exception:
            request.connection.end("a request failed here")
            request.deliver([])
            raise
        request.answer(body)

    def handle(request: Request) -> Instead:
        begin(run(request))
        return Instead.PARKED

    return handle
