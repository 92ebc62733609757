"""Servers started all at once, and waited for together: each is told of when it is ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from strandline.cluster.process import POLL_S, ServerProcess


class Server(Protocol):
    @property
    def process(self) -> ServerProcess: ...

    @property
    def address(self) -> str: ...

    @property
    def is_running(self) -> bool: ...

    def start(self) -> None:
        """Returns at once."""
        ...

    def is_ready(self) -> bool: ...


def start_all(servers: Sequence[Server], when_ready: Callable[[Server], object], timeout_s: float) -> None:
    """If one fails, none of them is left running."""
    try:
        for server in servers:
            server.start()
        _wait_for(servers, when_ready, timeout_s)
    except BaseException:
        for server in servers:
            server.process.kill()
        raise


def _wait_for(servers: Sequence[Server], when_ready: Callable[[Server], object], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    waiting = list(servers)
    while waiting:
        for server in tuple(waiting):
            if server.is_ready():
                waiting.remove(server)
                when_ready(server)
            else:
                server.process.check_awaited(deadline, timeout_s)
        time.sleep(POLL_S if waiting else 0)
