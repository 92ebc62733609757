"""How long to go on trying, and how long to wait between two tries: exponential, with jitter, until a deadline."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

from strandline.client.failures import BrokerUnreachable, ClientError, may_pass
from strandline.client.settings import ClientSettings

GROWTH = 2.0
TELL_AFTER_MS = 1_500
JITTER = 0.2  # so that many clients do not come back at the same moment


class Patience:
    def __init__(
        self,
        settings: ClientSettings,
        timeout_ms: int | None = None,
        when_long: Callable[[ClientError], object] = lambda _: None,
    ) -> None:
        """`when_long` is called once, with what hinders, when it has taken so long that a person wonders."""
        self.timeout_ms = settings.default_api_timeout_ms if timeout_ms is None else timeout_ms
        self._deadline_s = asyncio.get_running_loop().time() + self.timeout_ms / 1000
        self._when_long: Callable[[ClientError], object] | None = when_long
        self._next_pause_ms = float(settings.retry_backoff_ms)
        self._pause_max_ms = float(max(settings.retry_backoff_ms, settings.retry_backoff_max_ms))

    @property
    def left_ms(self) -> float:
        return max(0.0, (self._deadline_s - asyncio.get_running_loop().time()) * 1000)

    async def pause(self, error: ClientError) -> None:
        """Before the next try. Raises `error` where no further try can help, or there is no time for one."""
        if not may_pass(error):
            raise error
        pause_ms = self._next_pause_ms * random.uniform(1 - JITTER, 1 + JITTER)
        if pause_ms >= self.left_ms:
            raise give_up(error, self.timeout_ms) from error
        if self._when_long is not None and self.timeout_ms - self.left_ms >= TELL_AFTER_MS:
            self._when_long(error)
            self._when_long = None
        self._next_pause_ms = min(self._next_pause_ms * GROWTH, self._pause_max_ms)
        await asyncio.sleep(pause_ms / 1000)


def give_up(error: ClientError, timeout_ms: int) -> ClientError:
    if isinstance(error, BrokerUnreachable):
        return BrokerUnreachable(f"{error}; given up after {timeout_ms} ms")
    return ClientError(f"{error}; given up after {timeout_ms} ms")
