"""The load of lookups: clients ask where partitions begin and end, and what came first since a time.

They do so of a topic of the load's own, whose records have times that go back and forth and of which old ones go, and
of whatever other loads write to. What may be answered is in `lookups`.
"""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import TYPE_CHECKING, ClassVar

from strandline.model.partitions import TopicPartition
from strandline.records.record import Record
from strandline.simulation.consumers import READ_COMMITTED
from strandline.simulation.deletion_load import DeletionLoad
from strandline.simulation.load import WantedTopic
from strandline.simulation.lookups import Question, Shown, Times
from strandline.simulation.observed import PartitionTruth
from strandline.simulation.retention_load import RetentionLoad
from strandline.simulation.searchers import Searcher
from strandline.simulation.transactional_load import TransactionalLoad
from strandline.simulation.written_load import KeptProducer, Written, WrittenLoad

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

TOPIC = "diary"
SEARCHERS = 3
ASKED_OF_LAST = 60  # batches
LATE_MS = 5_000


class Diarist(KeptProducer):
    """Writes down some things late, and some in advance."""

    def _make_record(self, record: Record) -> Record:
        return record._replace(timestamp=record.timestamp + self.chance.randint(-LATE_MS, LATE_MS))


class LookupLoad(WrittenLoad):
    name = "lookups"
    partition = TopicPartition(TOPIC, 0)
    topics = (WantedTopic(TOPIC, 1, {"segment.bytes": "1024", "retention.bytes": "8192"}),)
    properties: ClassVar = RetentionLoad.properties

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.written: Written = {}
        self.times = Times(self.written)
        self.partitions: list[TopicPartition] = []
        self._transactional: list[TransactionalLoad] = []
        self._producers: list[Diarist] = []
        self._searchers = [Searcher(self, f"searcher-{number}") for number in range(SEARCHERS)]

    def start(self) -> None:
        simulation = self.simulation
        # A topic that comes and goes has no end that only goes up.
        topics = [topic for load in simulation.loads if load.name != DeletionLoad.name for topic in load.topics]
        self.partitions = [TopicPartition(topic.name, index) for topic in topics for index in range(topic.partitions)]
        self._transactional = [load for load in simulation.loads if isinstance(load, TransactionalLoad)]
        for number in range(2):
            producer = Diarist(self, f"diarist-{number}", self.partition, self.written)
            self._producers.append(producer)
            producer.start()
        for searcher in self._searchers:
            searcher.start()

    def some_time(self, chance: Random) -> int:
        """That of a record, perhaps of none that is there any more or yet; or a moment after it."""
        last = list(islice(reversed(self.written.values()), ASKED_OF_LAST))
        if not last:
            return self.world.now_ms
        return chance.choice(chance.choice(last)).timestamp + chance.choice((0, 0, 1, LATE_MS))

    # What is true.

    def truth_of(self, partition: TopicPartition) -> PartitionTruth:
        return next(truth for truth in self.simulation.observer.living if truth.name == partition)

    def shown_by(self, broker: str, question: Question) -> Shown | None:
        """None by a broker that does not lead in the newest epoch, or whose log nobody can read."""
        leader_epoch = self.simulation.observer.leadership(broker, question.partition)
        if leader_epoch is None:
            return None
        truth = self.truth_of(question.partition)
        assert truth.stored is not None
        replica = truth.replica(truth.stored.leader)
        end = self._stable_end(truth) if question.isolation_level == READ_COMMITTED else truth.committed_end
        return None if replica.is_unread else Shown(leader_epoch, replica.log_start_offset, end)

    def _stable_end(self, truth: PartitionTruth) -> int:
        first_open = None
        for load in self._transactional:
            if truth.name in load.partitions:
                first_open = load.history.of_partition(truth.name).first_open_offset
        return truth.committed_end if first_open is None else first_open

    # The end.

    def heal(self) -> None:
        super().heal()
        for client in (*self._producers, *self._searchers):
            client.pace.hurry()

    def has_got_on(self) -> bool:
        """A new leader knows in the end where its log ends."""
        return super().has_got_on() and all(each.last_heard_us > self._healed_us for each in self._searchers)
