"""A simulated client that talks to coordinators: finds them, and looks for them again where an answer says so."""

from __future__ import annotations

from typing import TypeVar

from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.simulation.client import SimulatedClient
from strandline.simulation.network import Network
from strandline.simulation.world import World
from strandline.wire.layout import Message
from strandline.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

M = TypeVar("M", bound=Message)

FIND_VERSION = 3
GROUP, TRANSACTION = 0, 1
MOVED = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class CoordinatedClient(SimulatedClient):
    def __init__(self, world: World, network: Network, name: str, brokers: tuple[str, ...]) -> None:
        super().__init__(world, network, name, brokers)
        self._coordinators: dict[tuple[int, str], str] = {}

    async def coordinator_of(self, kind: int, key: str) -> str:
        """As far as any broker knows."""
        known = self._coordinators
        while (kind, key) not in known:
            try:
                request = FindCoordinatorRequest(key=key, key_type=kind)
                found = await self.ask(self.any_broker(), request, FindCoordinatorResponse, FIND_VERSION)
                if not found.error_code:
                    known[kind, key] = f"b{found.node_id}"
                    break
            except PeerFailed:
                pass
            await self.pause(self.retry_backoff_ms)
        return known[kind, key]

    def forget_coordinator(self, kind: int, key: str) -> None:
        self._coordinators.pop((kind, key), None)

    async def ask_coordinator(self, kind: int, key: str, request: Message, response: type[M], version: int) -> M:
        """Once. Raises `PeerFailed`: whether it was done is not known then."""
        try:
            return await self.ask(await self.coordinator_of(kind, key), request, response, version)
        except PeerFailed:
            self.forget_coordinator(kind, key)
            raise

    async def wait_for_coordinator(self, kind: int, key: str, error_code: ErrorCode) -> None:
        if error_code in MOVED:
            self.forget_coordinator(kind, key)
        await self.pause(self.retry_backoff_ms)
