"""A broker for tests, in a thread of this process or in one of its own.

    with Broker() as broker:
        Producer({"bootstrap.servers": broker.bootstrap}) ...

It listens on a port that the operating system chose, and keeps its data in a temporary directory that goes with it.
A restart keeps both, so that clients find it again.

Whatever is heavy is imported when a broker starts: every run of pytest imports this module, also of people who do not
use it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from strandline.testing.failure import BrokerFailed, PortTaken
from strandline.testing.life import HOST, START_TIMEOUT_S
from strandline.testing.properties import gather_properties, text_properties

if TYPE_CHECKING:
    from strandline.testing.life import Life
    from strandline.testing.process import BrokerProcess

PORT_RETRY_S = 0.05


class Broker:
    """`start` and `close` it, or use it in `with` or `async with`."""

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        process: bool = False,
        data: str | os.PathLike[str] | None = None,
        port: int = 0,
        **keywords: object,
    ) -> None:
        """Settings by Kafka's names, or as keywords with underscores for dots. `data` is kept, if given.

        `process` starts a process, which can be killed; otherwise the broker runs in a thread, which starts faster.
        """
        self._properties = gather_properties(settings or {}, keywords)
        self._runs_as_process = process
        self._port = port
        self._life: Life | None = None
        self._has_lived = False
        self._scratch = tempfile.mkdtemp(prefix="strandline-")
        self._remove_scratch = weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
        self.data = os.path.abspath(data) if data is not None else os.path.join(self._scratch, "data")

    # Where it is.

    @property
    def bootstrap(self) -> str:
        """For a client's `bootstrap.servers`."""
        return f"{HOST}:{self.port}"

    @property
    def port(self) -> int:
        """The same over all restarts."""
        if not self._port:
            raise BrokerFailed("the broker has not been started: use `with Broker() as broker`, or call start()")
        return self._port

    @property
    def is_running(self) -> bool:
        return self._life is not None and self._life.is_alive()

    @property
    def pid(self) -> int:
        return self._process().process.pid

    def said(self) -> str:
        """What the process has written to its standard error in this life."""
        return self._process().said()

    def create_topic(
        self, name: str, partitions: int | None = None, settings: Mapping[str, object] | None = None
    ) -> str:
        """Returns the name. Partitions are as many as `num.partitions` says, unless told; settings by Kafka's names."""
        from strandline.testing.topics import create_topic

        create_topic((HOST, self.port), name, partitions, text_properties(settings or {}))
        return name

    # Its lives.

    def start(self) -> Self:
        """Returns when clients can connect. On the data and the port of the life before, if there was one."""
        if self._life is not None:
            raise BrokerFailed(f"the broker runs already, at {self.bootstrap}")
        if not self._remove_scratch.alive:
            raise BrokerFailed("the broker is closed, and its data is gone: make another")
        self._life = self._next_life() if self._has_lived else self._begin_life()
        self._has_lived = True
        self._port = self._life.port
        return self

    def stop(self) -> None:
        """A clean stop. The data stays until `close`, so that `start` goes on with it."""
        life, self._life = self._life, None
        if life is not None:
            life.stop()

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, nothing is told. The next start recovers."""
        self._process().kill()
        self._life = None

    def restart(self) -> None:
        """Stop it, if it still runs, and start it again."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop it and remove its temporary data."""
        try:
            self.stop()
        finally:
            self._remove_scratch()

    def __enter__(self) -> Self:
        return self._start_or_close()

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self._start_or_close)

    async def __aexit__(self, *_: object) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    def _start_or_close(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def _next_life(self) -> Life:
        """Between two lives any client on this machine may have been given our port to call from: wait for it."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                return self._begin_life()
            except PortTaken:
                if time.monotonic() > deadline:
                    raise
                time.sleep(PORT_RETRY_S)

    def _begin_life(self) -> Life:
        own = {"log.dirs": self.data, "listeners": f"PLAINTEXT://{HOST}:{self._port}"}
        properties = own | self._properties
        if self._runs_as_process:
            from strandline.testing.process import BrokerProcess

            return BrokerProcess(properties, os.path.join(self._scratch, "broker.log"))
        from strandline.testing.thread import BrokerThread

        return BrokerThread(properties)

    def _process(self) -> BrokerProcess:
        from strandline.testing.process import BrokerProcess

        if not isinstance(self._life, BrokerProcess):
            raise BrokerFailed("only a broker that runs as a process has this: start it with process=True")
        return self._life
