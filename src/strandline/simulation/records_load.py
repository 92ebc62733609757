"""The load of plain records: for each of two partitions an idempotent producer, a careless one, and a consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.model.partitions import TopicPartition
from strandline.simulation.consumers import Consumer
from strandline.simulation.load import WantedTopic
from strandline.simulation.options import RECORDS
from strandline.simulation.producers import ACKS_ALL, Producer
from strandline.simulation.written_load import WrittenLoad

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

TOPIC = "events"
PARTITIONS = 2


class RecordsLoad(WrittenLoad):
    name = RECORDS
    topics = (WantedTopic(TOPIC, PARTITIONS, {}),)

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._producers: list[Producer] = simulation.producers
        self._consumers: list[Consumer] = []
        self._chance = self.world.chance("simulation")

    def start(self) -> None:
        simulation = self.simulation
        world, network, names, history = self.world, simulation.network, simulation.names, simulation.history
        for index in range(PARTITIONS):
            partition = TopicPartition(TOPIC, index)
            for name, acks in ((f"careful-{index}", ACKS_ALL), (f"careless-{index}", self._chance.choice((0, 1)))):
                producer = Producer(world, network, name, names, partition, history, acks=acks)
                self._producers.append(producer)
                producer.start()
            consumer = Consumer(world, network, f"reader-{index}", names, partition, history)
            self._consumers.append(consumer)
            consumer.start()

    def heal(self) -> None:
        super().heal()
        for client in (*self._producers, *self._consumers):
            client.pace.hurry()

    def has_got_on(self) -> bool:
        """Who does not care is not told."""
        careful = (producer for producer in self._producers if producer.is_idempotent)
        return all(producer.last_acknowledged_us > self._healed_us for producer in careful)

    def is_settled(self) -> bool:
        ends = {truth.name: truth.committed_end for truth in self.simulation.observer.living}
        return all(consumer.position >= ends[consumer.partition] for consumer in self._consumers)
