"""The load of compaction: a topic of a few keys that are written over and over, and cleaned meanwhile.

The topics of the coordinators are cleaned too, and that of transactions where there is that load: what they have lost
shows in what groups and transactions come to.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from strandline.broker.cluster_image import CONSUMER_OFFSETS, TRANSACTION_STATE
from strandline.log.log import Log
from strandline.model.partitions import TopicPartition
from strandline.records.batch import split_batches
from strandline.records.record import Record, read_records
from strandline.simulation.consumers import Consumer
from strandline.simulation.load import COMPACTED, COMPACTION, WantedTopic
from strandline.simulation.observed import READ_BYTES, Batch, PartitionTruth, Replica
from strandline.simulation.transaction_load import TransactionLoad
from strandline.simulation.written_load import KeptProducer, Written, WrittenLoad
from strandline.wire.messages.fetch import PartitionData

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

TOPIC = "profiles"
PARTITION = TopicPartition(TOPIC, 0)
KEYS = 8
SELDOM_KEYS, SELDOM_SHARE = 8, 0.05  # and mostly deleted: a tombstone that is soon written over never comes to its end
DELETE_RETENTION_MS = 6_000
Last = tuple[int, bytes | None]  # offset and value
View = dict[bytes | None, Last]  # of each key the last


def records_from(log: Log) -> Iterator[Record]:
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        data = log.read(offset, READ_BYTES).read()
        if not data:
            return
        for batch in split_batches(data):
            records = list(read_records(batch))
            yield from records
        offset = next_offset(data)


def next_offset(data: bytes) -> int:
    *_, last = split_batches(data)
    base_offset, delta = int.from_bytes(last[:8], "big"), int.from_bytes(last[23:27], "big")
    return base_offset + delta + 1


class Progress:
    """How far a log had come, or a reader, and when."""

    def __init__(self) -> None:
        self._places: list[tuple[int, int]] = []

    def came_to(self, offset: int, now_us: int) -> None:
        """A log may have been cut."""
        while self._places and self._places[-1][0] > offset:
            self._places.pop()
        if not self._places or self._places[-1][0] < offset:
            self._places.append((offset, now_us))

    def passed_us(self, offset: int) -> int:
        """When it had what is there, or that was there no more; 0 if it is not as far."""
        passed = self._places[bisect_right(self._places, offset, key=lambda place: place[0]) :]
        return passed[0][1] if passed else 0


class LastValues:
    """Every replica that may be elected has the last committed value of each key, and nothing later.

    A tombstone may be gone `delete.retention.ms` after it was committed. Whoever comes to its place so late, be it a
    reader or a follower that was away, need not have seen it, and may still have what was before it, in Kafka too."""

    name = "LastValues"

    def __init__(self, simulation: Simulation, written: Written) -> None:
        self.last: View = {}
        self._simulation = simulation
        self._written = written
        self._followed = 0
        self._looked: dict[Replica, tuple[object, ...]] = {}
        self._committed_us: dict[bytes | None, int] = {}  # when the last of each key was
        self._progress: dict[Replica, Progress] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.name.topic in (CONSUMER_OFFSETS, TRANSACTION_STATE, TransactionLoad.topic):
            truth.is_compacted = True
        if truth.name != PARTITION:
            return
        truth.is_compacted = True
        self._follow(truth)
        for replica in truth.replicas.values():
            progress = self._progress.setdefault(replica, Progress())
            progress.came_to(replica.log_end_offset, self._simulation.world.now_us)
            seen = (replica.log, replica.reshapes, replica.leads_in)
            if seen != self._looked.get(replica) and self._must_have_all(truth, replica):
                self._looked[replica] = seen
                yield from self.compare(truth, replica)

    def _follow(self, truth: PartitionTruth) -> None:
        followed, self._followed = self._followed, len(truth.committed)
        for batch in truth.committed[followed:]:
            for index, record in enumerate(self._written[batch.crc]):
                self.last[record.key] = (batch.base_offset + index, record.value)
                self._committed_us[record.key] = self._simulation.world.now_us

    def may_be_gone(self, key: bytes | None, at_us: int) -> bool:
        """A tombstone, by then."""
        return self.last[key][1] is None and at_us // 1000 >= self._committed_us[key] // 1000 + DELETE_RETENTION_MS

    def _must_have_all(self, truth: PartitionTruth, replica: Replica) -> bool:
        is_known = replica.is_up and not replica.is_unread and not replica.has_lost_power
        return is_known and truth.stored is not None and replica.broker_id in truth.stored.isr

    def compare(self, truth: PartitionTruth, replica: Replica) -> Iterator[str]:
        log = replica.log
        if log is None or log.is_closed or log.failure is not None:
            return
        disk = self._simulation.machines[replica.broker_id - 1].disk
        disk.is_watched = True
        try:
            there = [record for record in records_from(log) if record.offset < truth.committed_end]
        finally:
            disk.is_watched = False
        view = {record.key: (record.offset, record.value) for record in there}
        for key, last in self.last.items():
            if view.get(key) == last:
                continue
            missed_us = self._progress[replica].passed_us(last[0]) if key in view else self._simulation.world.now_us
            if not self.may_be_gone(key, missed_us):
                yield f"{replica.broker_id} has {view.get(key)} for {key!r}, and {last} is its last committed value"


class KeyedProducer(KeptProducer):
    def _make_record(self, record: Record) -> Record:
        is_seldom = self.chance.random() < SELDOM_SHARE
        number = KEYS + self.chance.randrange(SELDOM_KEYS) if is_seldom else self.chance.randrange(KEYS)
        is_deletion = self.chance.random() < (0.6 if is_seldom else 0.1)
        return record._replace(key=f"key {number}".encode(), value=None if is_deletion else record.value)


class KeyedReader(Consumer):
    """Keeps what it reads as a table is kept."""

    is_compacted = True

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
        for batch in split_batches(bytes(data.records or b"")):
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
        self.written: Written = {}
        self._last_values = LastValues(simulation, self.written)
        self.invariants = [self._last_values]
        self._producers: list[KeyedProducer] = []
        self._readers: list[KeyedReader] = []

    def start(self) -> None:
        self._producers = [KeyedProducer(self, f"clerk-{number}", PARTITION, self.written) for number in range(2)]
        self._readers = [KeyedReader(self, f"index-{number}") for number in range(2)]
        for producer in self._producers:
            producer.pace.hurry()  # or there would be little to clean
            producer.start()
        for reader in self._readers:
            reader.start()

    def heal(self) -> None:
        super().heal()
        for reader in self._readers:
            reader.pace.hurry()

    def is_settled(self) -> bool:
        (truth,) = (truth for truth in self.simulation.observer.living if truth.name == PARTITION)
        if any(reader.position < truth.committed_end for reader in self._readers):
            return False
        for replica in truth.replicas.values():
            for sentence in self._last_values.compare(truth, replica):
                self.complain("LastValues", sentence)
        for reader in self._readers:
            for key, last in self._last_values.last.items():
                is_late = self._last_values.may_be_gone(key, reader.progress.passed_us(last[0]))
                if reader.view.get(key) != last and not is_late:
                    self.complain("LastValues", f"{reader.name} has {reader.view.get(key)} for {key!r}, not {last}")
        return not self.complaints
