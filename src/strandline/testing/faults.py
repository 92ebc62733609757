"""What can go wrong between the brokers of a cluster, and on their disks, at a test's word.

The brokers run in threads of one process, and speak over real sockets. A request between two of them that cannot pass
gets no answer: whoever asked hears of it when the time for an answer is over, or when the network is whole again and
finds that the connection has broken.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import TypeVar
from weakref import WeakSet

from strandline.broker.dispatch import Dispatch
from strandline.broker.host import Host, LoopHost
from strandline.broker.network_settings import NetworkSettings
from strandline.broker.peers import LocalHandler, PeerFailed, Purpose, SocketPeers
from strandline.broker.server import Server
from strandline.client.connection import HearBegun
from strandline.client.settings import Address, ClientSettings
from strandline.log.filesystem import RealFile, RealFileSystem
from strandline.metadata.answer import Answer
from strandline.testing.failure import BrokerFailed
from strandline.wire.layout import Message
from strandline.wire.versions import SPOKEN

M = TypeVar("M", bound=Message)
STORE = "store"
LOOK_AGAIN_MS = 20
Member = int | str  # a broker id, or STORE


class Network:
    """Who can reach whom, and what gets lost. Set by the test's thread, looked at by those of the brokers."""

    def __init__(self, seed: int) -> None:
        self._lock = threading.Lock()
        self._chance = random.Random(seed)
        self._groups: list[set[Member]] = []
        self._loss: dict[str, float] = {}

    def partition(self, groups: Collection[Collection[Member]]) -> None:
        with self._lock:
            self._groups = [set(group) for group in groups]

    def drop(self, api: str, share: float) -> None:
        """Of the requests of this name between brokers; 0 is none."""
        known = sorted({each.name for each in SPOKEN.values()})
        if api not in known:
            close = get_close_matches(api, known, n=1)
            asked = f"; did you mean {close[0]!r}?" if close else f": they are {', '.join(known)}"
            raise BrokerFailed(f"brokers send each other no request {api!r}{asked}")
        if not 0 <= share <= 1:
            raise BrokerFailed(f"drop({api!r}, {share!r}): a share is between 0, for none, and 1, for all")
        with self._lock:
            self._loss[api] = share

    def heal(self) -> None:
        with self._lock:
            self._groups, self._loss = [], {}

    def passes(self, one: Member, other: Member) -> bool:
        """Members that no group names reach everybody."""
        with self._lock:
            return not any(
                (one in group) != (other in group)
                for group in self._groups
                if any(one in each for each in self._groups) and any(other in each for each in self._groups)
            )

    def loses(self, api_key: int) -> bool:
        with self._lock:
            share = self._loss.get(SPOKEN[api_key].name, 0.0)
            return share > 0 and self._chance.random() < share


class FaultyPeers(SocketPeers):
    """The other brokers, over a network that has faults."""

    def __init__(
        self,
        broker_id: int,
        address_of: Callable[[int], Address | None],
        local_handlers: dict[int, LocalHandler],
        network: Network,
        host: Host,
    ) -> None:
        super().__init__(broker_id, address_of, local_handlers, ClientSettings(client_id="broker"))
        self._own_id = broker_id
        self._network = network
        self._host = host

    def ask(
        self,
        broker_id: int,
        request: Message,
        response: type[M],
        *,
        version: int,
        purpose: Purpose,
        timeout_ms: int,
        hear_begun: HearBegun | None = None,
    ) -> Answer[M]:
        if broker_id == self._own_id:
            return super().ask(broker_id, request, response, version=version, purpose=purpose, timeout_ms=timeout_ms)
        answer: Answer[M] = Answer()
        if not self._network.passes(self._own_id, broker_id) or self._network.loses(request.api_key):
            self._lose(answer, broker_id, self._host.elapsed_ms() + timeout_ms)
            return answer

        def came(outcome: Answer[M]) -> None:
            """The way back may have been cut meanwhile."""
            if self._network.passes(broker_id, self._own_id):
                answer.deliver(outcome.error or outcome.value())
            else:
                self._lose(answer, broker_id, self._host.elapsed_ms() + timeout_ms)

        def begun(body: memoryview) -> None:
            if hear_begun is not None and self._network.passes(broker_id, self._own_id):
                hear_begun(body)

        super().ask(
            broker_id,
            request,
            response,
            version=version,
            purpose=purpose,
            timeout_ms=timeout_ms,
            hear_begun=begun,
        ).then(came)
        return answer

    def _lose(self, answer: Answer[M], broker_id: int, deadline_ms: int) -> None:
        def look() -> None:
            if self._network.passes(self._own_id, broker_id) or self._host.elapsed_ms() >= deadline_ms:
                answer.deliver(PeerFailed(f"broker {broker_id} did not answer"))
            else:
                self._host.call_later(LOOK_AGAIN_MS, look)

        self._host.call_later(LOOK_AGAIN_MS, look)


class FaultyFile(RealFile):
    __slots__ = ("__weakref__", "_owner")

    def __init__(self, path: str, descriptor: int, owner: FaultyFileSystem) -> None:
        super().__init__(path, descriptor)
        self._owner = owner

    def sync(self) -> None:
        time.sleep(self._owner.sync_delay_ms / 1000)
        super().sync()


class FaultyFileSystem(RealFileSystem):
    """The files of one broker: slow when told to, and closed all at once when it is killed."""

    def __init__(self) -> None:
        super().__init__()
        self.sync_delay_ms = 0
        self._open_files: WeakSet[FaultyFile] = WeakSet()

    def _file(self, path: str, descriptor: int) -> RealFile:
        file = FaultyFile(path, descriptor, self)
        self._open_files.add(file)
        return file

    def close_all(self) -> None:
        for file in list(self._open_files):
            file.close()


class FaultySurroundings:
    """To be made in a running event loop."""

    def __init__(self, threads: int, network: Network, filesystem: FaultyFileSystem) -> None:
        self.host = LoopHost(threads)
        self.filesystem = filesystem
        self.server: Server
        self._network = network

    def listener(self, settings: NetworkSettings, dispatch: Dispatch) -> Server:
        self.server = Server(settings, dispatch)
        return self.server

    def peers(
        self, broker_id: int, address_of: Callable[[int], Address | None], local_handlers: dict[int, LocalHandler]
    ) -> FaultyPeers:
        return FaultyPeers(broker_id, address_of, local_handlers, self._network, self.host)
