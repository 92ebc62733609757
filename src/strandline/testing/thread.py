"""A broker in this process: a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Mapping
from concurrent.futures import Future

from strandline.broker import event_loop
from strandline.broker.broker import Broker
from strandline.broker.configs.unknown_names import refuse_unknown
from strandline.metadata.store import MetadataStore
from strandline.model.settings import BadSetting
from strandline.testing.failure import BrokerFailed, port_taken
from strandline.testing.life import START_TIMEOUT_S, STOP_TIMEOUT_S


class BrokerThread:
    def __init__(self, properties: Mapping[str, str], store: MetadataStore | None = None) -> None:
        try:
            refuse_unknown(properties)
            self.broker = Broker(properties, store)
        except BadSetting as bad:
            raise BrokerFailed(f"the broker did not start: {bad}") from bad
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._stopped: Future[None] = Future()
        self._stop = asyncio.Event()
        # A test that forgets to stop its broker must not hang at the end: such a thread goes with the process.
        self._thread = threading.Thread(target=self._run, name="strandline", daemon=True)
        self._thread.start()
        self._loop = self._wait_until_started()
        self.port = self.broker.addresses[0][1]

    def _wait_until_started(self) -> asyncio.AbstractEventLoop:
        try:
            return self._started.result(START_TIMEOUT_S)
        except OSError as failure:
            if failure.errno == errno.EADDRINUSE:
                raise port_taken(self.broker.settings.listener().port) from failure
            raise BrokerFailed(f"the broker did not start: {failure}") from failure
        except Exception as failure:
            raise BrokerFailed(f"the broker did not start: {failure}") from failure

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        if not self._stopped.done():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._stopped.result(STOP_TIMEOUT_S)
        self._thread.join(STOP_TIMEOUT_S)

    def kill(self) -> None:
        raise BrokerFailed("a thread cannot be killed: start the broker with process=True")

    def _run(self) -> None:
        try:
            event_loop.run(self._serve())
        except BaseException as failure:
            (self._stopped if self._started.done() else self._started).set_exception(failure)
        else:
            self._stopped.set_result(None)

    async def _open(self) -> None:
        await self.broker.start()

    async def _close(self) -> None:
        await self.broker.stop()

    async def _serve(self) -> None:
        self.broker.when_failed = self._stop.set
        await self._open()
        self._started.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        await self._close()
        if self.broker.failure is not None:
            raise BrokerFailed(self.broker.failure)
