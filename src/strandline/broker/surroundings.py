"""What a broker is put into: time and threads, files, a way to be reached and a way to reach others.

`LoopSurroundings` are real: an event loop of asyncio, the operating system's files, sockets. In `strandline.simulation`
there is another kind, where all brokers of a cluster live in one thread under one seed. The broker itself cannot tell.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from strandline.broker.dispatch import Dispatch
from strandline.broker.host import Host, LoopHost
from strandline.broker.network_settings import NetworkSettings
from strandline.broker.peers import LocalHandler, Peers, SocketPeers
from strandline.broker.server import Server
from strandline.client.settings import Address, ClientSettings
from strandline.log.filesystem import FileSystem, RealFileSystem


class OwnHost(Host, Protocol):
    """A host for one broker alone, which ends with it."""

    @property
    def is_idle(self) -> bool:
        """Whether everything that was given to threads has been done and told."""
        ...

    def post(self, callback: Callable[[], object]) -> None:
        """`call_soon` from any thread."""
        ...

    def close(self) -> None: ...


class Listener(Protocol):
    """Where requests come from."""

    def bind(self, host: str, port: int) -> list[tuple[str, int]]:
        """Take the addresses; who connects waits until `begin_accepting`."""
        ...

    def begin_accepting(self) -> None: ...
    @property
    def settings(self) -> NetworkSettings: ...
    def change_settings(self, settings: NetworkSettings) -> None: ...
    async def stop(self) -> None:
        """Accept and receive nothing more, finish the answers that are being sent, close."""
        ...


class OwnPeers(Peers, Protocol):
    @property
    def is_asking_ourselves(self) -> bool: ...
    def close(self) -> None: ...


class Surroundings(Protocol):
    @property
    def host(self) -> OwnHost: ...
    @property
    def filesystem(self) -> FileSystem: ...
    def listener(self, settings: NetworkSettings, dispatch: Dispatch) -> Listener: ...
    def peers(
        self, broker_id: int, address_of: Callable[[int], Address | None], local_handlers: dict[int, LocalHandler]
    ) -> OwnPeers: ...


class LoopSurroundings:
    """To be made in a running event loop."""

    def __init__(self, threads: int) -> None:
        self.host = LoopHost(threads)
        self.filesystem = RealFileSystem(threading.Lock())

    def listener(self, settings: NetworkSettings, dispatch: Dispatch) -> Server:
        return Server(settings, dispatch)

    def peers(
        self, broker_id: int, address_of: Callable[[int], Address | None], local_handlers: dict[int, LocalHandler]
    ) -> SocketPeers:
        return SocketPeers(broker_id, address_of, local_handlers, ClientSettings(client_id="broker"))
