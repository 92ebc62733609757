"""A broker of a cluster in this process: a thread that can be killed, and can stand still."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping

from strandline.broker.bridges import completed
from strandline.model.settings import CleanerSettings
from strandline.testing.faults import FaultyFileSystem, FaultySurroundings, Network
from strandline.testing.shared_store import StoreConnection
from strandline.testing.thread import BrokerThread


class MemberThread(BrokerThread):
    def __init__(self, properties: Mapping[str, str], connection: StoreConnection, network: Network) -> None:
        self.filesystem = FaultyFileSystem()
        self.connection = connection
        self._network = network
        self._is_killed = False
        self._has_lost_store = False
        self._may_go_on = threading.Event()
        super().__init__(properties, connection)

    def pause(self) -> None:
        """As by SIGSTOP: nothing of it runs; who connects waits. The store stops hearing of it."""
        self._may_go_on.clear()
        self._loop.call_soon_threadsafe(self._may_go_on.wait)
        self.connection.be_silent()

    def resume(self) -> None:
        self.connection.speak()
        self._may_go_on.set()

    def lose_store(self) -> None:
        if not self._has_lost_store:
            self._has_lost_store = True
            self.connection.cut()

    def reach_store(self) -> None:
        if self._has_lost_store:
            self._has_lost_store = False
            self.connection.heal()

    def kill(self) -> None:
        """As by SIGKILL: nothing is flushed, nothing is told, and the store finds out by its silence."""
        self._is_killed = True
        self._may_go_on.set()
        self.connection.be_silent()
        self.stop()

    def stop(self) -> None:
        self._may_go_on.set()
        super().stop()

    async def _open(self) -> None:
        self.connection.runs_in(asyncio.get_running_loop())
        cleaner = self.broker.configuration.of_broker(CleanerSettings)
        threads = self.broker.settings.background_threads + cleaner.threads
        self.surroundings = FaultySurroundings(threads, self._network, self.filesystem)
        await completed(self.broker.open(self.surroundings))

    async def _close(self) -> None:
        if not self._is_killed:
            await super()._close()
            return
        self.surroundings.server.abandon()
        self.broker.membership.peers.close()
        await asyncio.sleep(0)  # transports close in the next turn
        self.surroundings.host.close()
        self.filesystem.close_all()
