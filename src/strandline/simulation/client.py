"""A client of the simulated cluster: finds leaders, asks, and loses patience, as any client of the protocol does.

What it wants to do is a procedure: a coroutine over answers, in the one thread of the simulation.
"""

from __future__ import annotations

from typing import TypeVar

from strandline.broker.peers import PeerFailed
from strandline.broker.procedures import Procedure, begin, pause
from strandline.simulation.calls import Caller
from strandline.simulation.network import Network
from strandline.simulation.pace import Pace
from strandline.simulation.simulated_host import SimulatedHost
from strandline.simulation.world import World
from strandline.wire.layout import Message
from strandline.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

METADATA_VERSION = 12
M = TypeVar("M", bound=Message)


class SimulatedClient:
    def __init__(self, world: World, network: Network, name: str, brokers: tuple[str, ...]) -> None:
        self.world = world
        self.name = name
        self.chance = world.chance(name)
        self.pace = Pace(world, world.chance(f"pace of {name}"))
        self.host = SimulatedHost(world, name, thread_time_us=lambda: 100, chance=self.chance)
        self.request_timeout_ms = 5_000
        self.retry_backoff_ms = 100
        self.controller_id = -1
        self._network = network
        self._brokers = brokers
        self._callers: dict[str, Caller] = {}

    def begin(self, procedure: Procedure[None]) -> None:
        self.host.call_soon(lambda: begin(procedure))

    async def pause(self, milliseconds: float) -> None:
        await pause(self.host, milliseconds)

    def caller(self, broker: str) -> Caller:
        caller = self._callers.get(broker)
        if caller is None or not caller.is_open:
            caller = self._callers[broker] = Caller(self._network, self.host, self.name, broker, self.name)
        return caller

    async def ask(self, broker: str, request: Message, response: type[M], version: int) -> M:
        """Raises `PeerFailed`."""
        return await self.caller(broker).ask(request, response, version=version, timeout_ms=self.request_timeout_ms)

    def any_broker(self) -> str:
        return self.chance.choice(self._brokers)

    async def topic(self, name: str) -> MetadataResponseTopic:
        """As any broker knows it, which may be out of date."""
        while True:
            try:
                found = await self.known_topic(name)
                if found is not None:
                    return found
            except PeerFailed:
                pass
            await self.pause(self.retry_backoff_ms)

    async def known_topic(self, name: str) -> MetadataResponseTopic | None:
        """None where the broker that was asked knows nothing of it, or nothing good. Raises `PeerFailed`."""
        request = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        answer = await self.ask(self.any_broker(), request, MetadataResponse, METADATA_VERSION)
        self.controller_id = answer.controller_id
        if not answer.brokers:  # it has just started
            return None
        (found,) = answer.topics
        return None if found.error_code else found

    async def leader_of(self, topic: str, index: int) -> tuple[str, int]:
        """And its epoch."""
        while True:
            for partition in (await self.topic(topic)).partitions:
                if partition.partition_index == index and partition.leader_id >= 0:
                    return f"b{partition.leader_id}", partition.leader_epoch
            await self.pause(self.retry_backoff_ms)
