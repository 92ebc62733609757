"""The load of compaction: a topic of a few keys that are written over and over, and cleaned meanwhile.

Where there is the load of transactions they write to it, too (`profiles`). The topics of the coordinators are cleaned
as well, and that of transactions: what they have lost shows in what groups and transactions come to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from strandline.records.batch import split_batches
from strandline.records.heads import head_of
from strandline.records.record import Record, read_records
from strandline.simulation.cleaning_invariants import LastBatchesStay, TombstonesGo
from strandline.simulation.committed_readers import committed_only
from strandline.simulation.consumers import READ_COMMITTED, Consumer
from strandline.simulation.last_values import DELETE_RETENTION_MS, LastValues, Progress, View
from strandline.simulation.load import COMPACTED, COMPACTION, WantedTopic
from strandline.simulation.observed import Batch, PartitionTruth
from strandline.simulation.profiles import PARTITION, TOPIC, profile
from strandline.simulation.written_load import KeptProducer, WrittenLoad
from strandline.wire.messages.fetch import PartitionData

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation


TEMP_PAUSE_MS = (10_000, 25_000)
LOOKS_EACH_US = 1_000_000


class KeyedProducer(KeptProducer):
    def _make_record(self, record: Record) -> Record:
        return profile(record, self.chance)


class KeyedReader(Consumer):
    """Keeps what it reads as a table is kept."""

    is_compacted = True
    isolation_level = READ_COMMITTED

    def __init__(self, load: CompactionLoad, name: str) -> None:
        simulation = load.simulation
        super().__init__(load.world, simulation.network, name, simulation.names, PARTITION, simulation.history)
        self.view: View = {}
        self.progress = Progress()

    def _read(self, batches: Sequence[Batch], data: PartitionData) -> None:
        begin = self.position
        super()._read(batches, data)
        self.progress.came_to(self.position, self.world.now_us)
        assert isinstance(data.records, bytes | memoryview | None)
        given = {batch.base_offset for batch in committed_only(batches, data.aborted_transactions or [])}
        for batch in split_batches(bytes(data.records or b"")):
            if head_of(batch).base_offset in given:
                for record in read_records(batch):
                    if record.offset >= begin:
                        self.view[record.key] = (record.offset, record.value)


class CompactionLoad(WrittenLoad):
    name = COMPACTION
    topics = (WantedTopic(TOPIC, 1, COMPACTED),)
    properties: ClassVar = {
        "log.cleaner.enable": "true",
        "log.cleaner.backoff.ms": "4000",
        "log.cleaner.delete.retention.ms": str(DELETE_RETENTION_MS),
        "log.cleaner.dedupe.buffer.size": "65536",
        "log.cleaner.io.buffer.size": "4096",
        "log.cleaner.min.cleanable.ratio": "0.1",
        "log.initial.task.delay.ms": "500",
        "log.segment.delete.delay.ms": "3000",
        "offsets.topic.segment.bytes": "2048",
        "transaction.state.log.segment.bytes": "2048",
    }

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.written = simulation.history.kept
        self._last_values = LastValues(simulation, self.written)
        self.invariants = [self._last_values, TombstonesGo(simulation.machines), LastBatchesStay()]
        self._producers: list[KeyedProducer] = []
        self._readers: list[KeyedReader] = []
        self._looks_again_us = 0

    def start(self) -> None:
        self._producers = [KeyedProducer(self, f"clerk-{number}", PARTITION, self.written) for number in range(3)]
        self._readers = [KeyedReader(self, f"index-{number}") for number in range(2)]
        *busy, temp = self._producers
        for producer in busy:
            producer.pace.hurry()  # or there would be little to clean
        # Of this one all values are soon written over, and its last batch is nothing but what is known of it.
        temp.pace.keep_to(TEMP_PAUSE_MS)
        for producer in self._producers:
            producer.start()
        for reader in self._readers:
            reader.start()

    def heal(self) -> None:
        super().heal()
        for client in (*self._producers, *self._readers):
            client.pace.hurry()

    def is_settled(self) -> bool:
        (truth,) = (truth for truth in self.simulation.observer.living if truth.name == PARTITION)
        if any(reader.position < truth.committed_end for reader in self._readers) or not self._is_clean(truth):
            return False
        for replica in truth.replicas.values():
            for sentence in self._last_values.compare(truth, replica):
                self.complain("LastValues", sentence)
        for reader in self._readers:
            for key, last in self._last_values.values.last.items():
                is_late = self._last_values.may_be_gone(key, reader.progress.passed_us(last[0]))
                if reader.view.get(key) != last and not is_late:
                    self.complain("LastValues", f"{reader.name} has {reader.view.get(key)} for {key!r}, not {last}")
        return not self.complaints

    def _is_clean(self, truth: PartitionTruth) -> bool:
        """What lies in closed segments, in every log: beside so few keys any such segment makes the log dirty enough to
        be cleaned. It is looked at once in a while, for there is much to read."""
        now_us = self.world.now_us
        if now_us < self._looks_again_us:
            return False
        self._looks_again_us = now_us + LOOKS_EACH_US
        return all(self._last_values.superfluous(truth.replica(broker_id)) == 0 for broker_id in truth.assigned)
