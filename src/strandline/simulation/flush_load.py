"""The load of flushes: with `flush.messages=1` what is acknowledged is on the disks of all in-sync replicas, and power
may go anywhere, and everywhere at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from strandline.model.partitions import TopicPartition
from strandline.simulation.consumers import Consumer
from strandline.simulation.load import FLUSH_MESSAGES, FLUSHES, WantedTopic
from strandline.simulation.producers import Producer
from strandline.simulation.written_load import WrittenLoad

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

TOPIC = "vault"
PARTITION = TopicPartition(TOPIC, 0)


class FlushLoad(WrittenLoad):
    name = FLUSHES
    topics = (WantedTopic(TOPIC, 1, {}),)
    properties: ClassVar = {FLUSH_MESSAGES: "1"}

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        world, network, names, history = self.world, simulation.network, simulation.names, simulation.history
        self._producers = [Producer(world, network, f"banker-{each}", names, PARTITION, history) for each in range(2)]
        self._reader = Consumer(world, network, "teller", names, PARTITION, history)

    def start(self) -> None:
        for producer in self._producers:
            producer.start()
        self._reader.start()

    def heal(self) -> None:
        super().heal()
        for client in (*self._producers, self._reader):
            client.pace.hurry()

    def is_settled(self) -> bool:
        (truth,) = (truth for truth in self.simulation.observer.living if truth.name == PARTITION)
        return self._reader.position >= truth.committed_end
