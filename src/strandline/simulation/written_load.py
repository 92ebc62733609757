"""A load of producers who write at their own pace: it gets on when each of them does, and ends with what it began."""

from __future__ import annotations

from collections.abc import Sequence

from strandline.model.partitions import TopicPartition
from strandline.records.record import Record
from strandline.simulation.load import Load
from strandline.simulation.producers import Outgoing, Producer

Written = dict[int, list[Record]]  # the records of each batch, by its CRC


class WrittenLoad(Load):
    _producers: Sequence[Producer] = ()
    _healed_us = 0

    def heal(self) -> None:
        self._healed_us = self.world.now_us

    def has_got_on(self) -> bool:
        return all(producer.last_acknowledged_us > self._healed_us for producer in self._producers)

    def stop(self) -> None:
        for producer in self._producers:
            producer.is_stopping = True

    def is_done(self) -> bool:
        return all(producer.is_done for producer in self._producers)


class KeptProducer(Producer):
    """What it writes is kept, record by record."""

    def __init__(self, load: Load, name: str, partition: TopicPartition, written: Written) -> None:
        simulation = load.simulation
        super().__init__(load.world, simulation.network, name, simulation.names, partition, simulation.history)
        self._written = written
        self._made: list[Record] = []

    def _make_batch(self) -> Outgoing:
        outgoing = super()._make_batch()
        self._written[outgoing.crc] = self._made
        return outgoing

    def _make_records(self, number: int) -> list[Record]:
        self._made = [self._make_record(record) for record in super()._make_records(number)]
        return self._made

    def _make_record(self, record: Record) -> Record:
        """What a load makes of it."""
        return record
