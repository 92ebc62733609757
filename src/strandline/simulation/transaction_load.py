"""The load of transactions: producers of a few transactional ids, each now and then replaced by another while it lives,
beside a plain one; readers of committed data, and of all.

Where there is the load of compaction they write to its topic, too, keys that others write as well (`profiles`), and now
and then leave a transaction open while that is cleaned."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from strandline.simulation import profiles
from strandline.simulation.committed_readers import CommittedReader
from strandline.simulation.consumers import Consumer
from strandline.simulation.load import COMPACTED, COMPACTION, WantedTopic
from strandline.simulation.producers import Producer
from strandline.simulation.transaction_history import TransactionalId
from strandline.simulation.transactional_load import TransactionalLoad
from strandline.simulation.transactional_producers import TransactionalProducer

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

SECOND_US = 1_000_000
IDS = 2
PARTITIONS = 3


class TransactionLoad(TransactionalLoad):
    name = "transactions"
    topic = "ledger"
    partitions_written = PARTITIONS
    topics = (WantedTopic(topic, PARTITIONS, {}),)
    properties: ClassVar = {
        "transaction.state.log.num.partitions": "1",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000",
    }

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.is_compacted = COMPACTION in simulation.options.load
        if self.is_compacted:
            self.topics = (WantedTopic(self.topic, PARTITIONS, COMPACTED),)
            self._write_to([*self.own_partitions, profiles.PARTITION])
        self._chance = self.world.chance("transactions")
        self._ids = [TransactionalId(f"payer-{number}", f"payees-{number}") for number in range(IDS)]
        self._producers: dict[str, list[TransactionalProducer]] = {each.name: [] for each in self._ids}
        self._plain: list[Producer] = []
        self._is_stopping = False
        self._healed_us = 0

    def start(self) -> None:
        for owner in self._ids:
            self._replace(owner)
        self._keep_up()
        for partition in self.own_partitions:
            self._readers.append(CommittedReader(self, f"auditor-{partition.partition}", partition))
        if not self.is_compacted:
            self._start_plain()
        for plain in self._plain:
            plain.start()
        for reader in self._readers:
            reader.start()

    def _start_plain(self) -> None:
        """Records that have no key, among those of transactions; and one who reads everything."""
        simulation = self.simulation
        world, network, names, partition = self.world, simulation.network, simulation.names, self.own_partitions[0]
        self._plain.append(Producer(world, network, "bystander", names, partition, self.records))
        self._readers.append(Consumer(world, network, "onlooker", names, partition, self.records))

    def _replace(self, owner: TransactionalId) -> None:
        """By one that knows nothing of those before it; nor do they of it."""
        if self._is_stopping:
            return
        name = f"{owner.name}.{len(self._producers[owner.name]) + 1}"
        producer = TransactionalProducer(self, owner, name)
        self.world.tell(f"{name} begins")
        self._producers[owner.name].append(producer)
        if self._healed_us:
            producer.pace.hurry()
        producer.start()
        if not self._healed_us:
            pause_ms = producer.pace.of(int(self._chance.uniform(5, 40) * 1000))
            self.world.after(pause_ms * 1000, lambda: self._replace(owner))

    def _keep_up(self) -> None:
        """Of those that replaced one another one must be left."""
        for owner in self._ids:
            if all(producer.is_done for producer in self._producers[owner.name]):
                self._replace(owner)
        if not self._is_stopping:
            self.world.after(SECOND_US, self._keep_up)

    # The end.

    def heal(self) -> None:
        super().heal()
        self._healed_us = self.world.now_us
        for producers in self._producers.values():
            for producer in producers:
                producer.pace.hurry()
        for plain in self._plain:
            plain.pace.hurry()

    def has_got_on(self) -> bool:
        return all(
            any(producer.last_committed_us > self._healed_us for producer in producers)
            for producers in self._producers.values()
        )

    def stop(self) -> None:
        self._is_stopping = True
        for producers in self._producers.values():
            for producer in producers:
                producer.is_stopping = True
        for plain in self._plain:
            plain.is_stopping = True

    def is_done(self) -> bool:
        return all(producer.is_done for producers in self._producers.values() for producer in producers) and all(
            plain.is_done for plain in self._plain
        )
