"""The client without an event loop: a scripted broker in a thread, connections that stay open between calls."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest
from tests.client.scripted_broker import WAIT_S, ScriptedBroker

from strandline.client.blocking import Blocking
from strandline.client.failures import NoTopic


def test_calls_share_their_connections() -> None:
    started: Future[tuple[ScriptedBroker, asyncio.AbstractEventLoop]] = Future()
    over = asyncio.Event()

    async def serve() -> None:
        async with ScriptedBroker() as broker:
            broker.leaders = {"orders": [1]}
            started.set_result((broker, asyncio.get_running_loop()))
            await over.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    broker, loop = started.result(WAIT_S)
    try:
        with Blocking(broker.settings()) as client:
            for _ in range(3):
                assert list(client(lambda cluster: cluster.topics(["orders"], fresh=True))) == ["orders"]
            with pytest.raises(NoTopic):
                client(lambda cluster: cluster.topics(["nosuch"]))
        assert broker.connection_count == 1
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(WAIT_S)
