"""The other brokers, reached over simulated lines: the twin of `broker.peers.SocketPeers`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from strandline.broker.peers import LocalHandler, OwnRequests, PeerFailed, Purpose
from strandline.client.connection import HearBegun
from strandline.client.settings import Address
from strandline.metadata.answer import Answer
from strandline.simulation.calls import Caller
from strandline.simulation.network import Network
from strandline.simulation.simulated_host import SimulatedHost
from strandline.wire.layout import Message

M = TypeVar("M", bound=Message)


class SimulatedPeers:
    def __init__(
        self,
        network: Network,
        host: SimulatedHost,
        place: str,
        broker_id: int,
        address_of: Callable[[int], Address | None],
        local_handlers: dict[int, LocalHandler],
    ) -> None:
        self._network = network
        self._host = host
        self._place = place
        self._broker_id = broker_id
        self._address_of = address_of
        self._own = OwnRequests(local_handlers)
        self._callers: dict[tuple[int, Purpose], Caller] = {}

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
        if broker_id == self._broker_id and request.api_key in self._own:
            return self._own.ask(request, self._host.call_soon)
        caller = self._callers.get((broker_id, purpose))
        if caller is None or not caller.is_open:
            address = self._address_of(broker_id)
            if address is None:
                return self._failed(f"nobody knows where broker {broker_id} is")
            caller = Caller(self._network, self._host, self._place, address.host, f"broker-{self._broker_id}")
            self._callers[broker_id, purpose] = caller
        return caller.ask(request, response, version=version, timeout_ms=timeout_ms, hear_begun=hear_begun)

    @property
    def is_asking_ourselves(self) -> bool:
        return self._own.are_under_way

    def hang_up(self, broker_id: int, purpose: Purpose) -> None:
        caller = self._callers.pop((broker_id, purpose), None)
        if caller is not None:
            caller.hang_up()

    def close(self) -> None:
        for caller in self._callers.values():
            caller.hang_up()

    def _failed(self, reason: str) -> Answer[Any]:
        answer: Answer[Any] = Answer()
        self._host.call_soon(lambda: answer.deliver(PeerFailed(reason)))
        return answer
