"""The load of reassignments: partitions of one replica less than there are brokers, which move about while they are
written and read; now and then a move is cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.broker.peers import PeerFailed
from strandline.model.partitions import TopicPartition
from strandline.simulation.client import SimulatedClient
from strandline.simulation.consumers import Consumer
from strandline.simulation.load import Load, WantedTopic
from strandline.simulation.observed import logs_of
from strandline.simulation.producers import Producer
from strandline.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

TOPIC = "parcels"
PARTITIONS = 2
REPLICAS = 2
ALTER_VERSION = 0


class ReassignmentLoad(Load):
    name = "reassignments"
    topics = (WantedTopic(TOPIC, PARTITIONS, {}, REPLICAS),)

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self._producers: list[Producer] = []
        self._readers: list[Consumer] = []
        self._replicas = min(REPLICAS, simulation.options.brokers)
        self._is_stopping = self._is_done = False
        self._healed_us = self._moved_us = 0

    def start(self) -> None:
        simulation = self.simulation
        world, network, names, history = self.world, simulation.network, simulation.names, simulation.history
        for index in range(PARTITIONS):
            partition = TopicPartition(TOPIC, index)
            producer = Producer(world, network, f"sender-{index}", names, partition, history)
            reader = Consumer(world, network, f"receiver-{index}", names, partition, history)
            self._producers.append(producer)
            self._readers.append(reader)
            producer.start()
            reader.start()
        mover = SimulatedClient(world, network, "mover", names)
        mover.begin(self._move_about(mover))

    async def _move_about(self, mover: SimulatedClient) -> None:
        brokers = [machine.broker_id for machine in self.simulation.machines]
        while not self._is_stopping:
            await mover.pause(mover.pace.of(mover.chance.randint(500, 10_000)))
            index = mover.chance.randrange(PARTITIONS)
            replicas = None if mover.chance.random() < 0.15 else mover.chance.sample(brokers, self._replicas)
            partition = ReassignablePartition(index, replicas)
            request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(TOPIC, [partition])])
            try:
                await mover.topic(TOPIC)
                controller = f"b{mover.controller_id}" if mover.controller_id > 0 else mover.any_broker()
                answer = await mover.ask(controller, request, AlterPartitionReassignmentsResponse, ALTER_VERSION)
            except PeerFailed:
                continue
            if not answer.error_code and not answer.responses[0].partitions[0].error_code:
                self._moved_us = self.world.now_us
                self.world.tell(f"{TOPIC}-{index} is to be on {replicas or 'those that it was on'}")
        self._is_done = True

    def heal(self) -> None:
        self._healed_us = self.world.now_us
        for client in (*self._producers, *self._readers):
            client.pace.hurry()

    def has_got_on(self) -> bool:
        return self._moved_us > self._healed_us and all(
            producer.last_acknowledged_us > self._healed_us for producer in self._producers
        )

    def stop(self) -> None:
        self._is_stopping = True
        for producer in self._producers:
            producer.is_stopping = True

    def is_done(self) -> bool:
        return self._is_done and all(producer.is_done for producer in self._producers)

    def is_settled(self) -> bool:
        """Every move has ended; who is no replica any more has nothing left; everything was read."""
        truths = {truth.name: truth for truth in self.simulation.observer.living if truth.name.topic == TOPIC}
        for machine in self.simulation.machines:
            if machine.broker is None or not machine.is_serving:
                return False
            for name, _, _ in logs_of(machine.broker):
                if name in truths and machine.broker_id not in truths[name].assigned:
                    return False
        return all(len(truth.assigned) == self._replicas for truth in truths.values()) and all(
            reader.position >= truths[reader.partition].committed_end for reader in self._readers
        )
