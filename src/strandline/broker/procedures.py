"""Coroutines without an event loop, for what takes several answers of the metadata store to do.

Creating a topic is a write, then more writes, then folders. Written with callbacks that is a chain nobody can read; as
a coroutine that awaits `Answer`s it reads like what it is. `begin` runs one until it has to wait, and goes on when the
answer comes, in the thread that owns everything. No task, no asyncio: in a simulation it runs just the same.

The hot APIs have nothing to wait for here and do not use this.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.host import Host
from strandline.metadata.answer import Answer

logger = logging.getLogger(__name__)

Value = TypeVar("Value")
Procedure = Coroutine[Answer[Any], None, Value]


def begin(procedure: Procedure[None]) -> None:
    """Whatever it does not catch is our bug: it is logged, and nothing else happens."""
    try:
        answer = procedure.send(None)
    except StopIteration:
        return
    except Exception:
        logger.exception("%s failed", procedure)
        return
    answer.then(lambda _: begin(procedure))


def in_thread(host: Host, work: Callable[[], Value]) -> Answer[Future[Value]]:
    """What blocks, in the midst of a procedure: `(await in_thread(host, work)).result()`."""
    answer: Answer[Future[Value]] = Answer()
    host.run_in_thread(work, answer.deliver)
    return answer


def by_procedure(procedure: Callable[[Request], Procedure[Body]]) -> Handler:
    """A handler that answers when its procedure ends. It decodes the request's body before it first awaits."""

    async def run(request: Request) -> None:
        try:
            body = await procedure(request)
        except Exception:
            request.connection.end("a request failed here")
            request.deliver([])
            raise
        request.answer(body)

    def handle(request: Request) -> Instead:
        begin(run(request))
        return Instead.PARKED

    return handle
