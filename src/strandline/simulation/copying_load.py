"""The load of copying: members of a group copy what it consumes into another topic, each in transactions that move the
group's offsets (KIP-447). They come and go, fall asleep amid a transaction, and are replaced.

Nothing is read: the offsets themselves are what is copied, as if there were a record at each. Each must be copied once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from strandline.model.partitions import TopicPartition
from strandline.simulation.committed_readers import CommittedReader
from strandline.simulation.copiers import Copier
from strandline.simulation.copies import CopiedOnce
from strandline.simulation.group_load import GroupLoad
from strandline.simulation.grouped_load import PARTITIONS
from strandline.simulation.load import WantedTopic
from strandline.simulation.transaction_load import TransactionLoad
from strandline.simulation.transactional_load import TransactionalLoad

if TYPE_CHECKING:
    from strandline.simulation.group_clients import GroupClient
    from strandline.simulation.simulation import Simulation

PARTITIONS_WRITTEN = 2


class CopyingLoad(GroupLoad, TransactionalLoad):
    name = "copying"
    consumed = "originals"
    group = "copiers"
    instances = (None, None, "press-0")
    topic = "copies"
    partitions_written = PARTITIONS_WRITTEN
    topics = (WantedTopic(consumed, PARTITIONS, {}), WantedTopic(topic, PARTITIONS_WRITTEN, {}))
    properties: ClassVar = GroupLoad.properties | TransactionLoad.properties

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.copied_once = CopiedOnce(self.topic, self.indexes)
        self.invariants.append(self.copied_once)  # after those that follow what is decided

    def start(self) -> None:
        super().start()
        for partition in self.partitions:
            self._readers.append(self._make_reader(partition))
            self._readers[-1].start()

    def _make_member(self, name: str, instance_id: str | None) -> GroupClient:
        return Copier(self, name, instance_id)

    def _make_reader(self, partition: TopicPartition) -> CommittedReader:
        return CommittedReader(self, f"proofreader-{partition.partition}", partition)

    # The end.

    def heal(self) -> None:
        GroupLoad.heal(self)
        TransactionalLoad.heal(self)

    def has_got_on(self) -> bool:
        """Whether somebody is missed is shown where nothing else makes a group rebalance (`grouped_load`)."""
        return self.has_progressed()

    def is_settled(self) -> bool:
        if not (GroupLoad.is_settled(self) and TransactionalLoad.is_settled(self)):
            return False
        left_out = list(self.copied_once.left_out())
        for sentence in left_out:
            self.complain(self.copied_once.name, sentence)
        return not left_out
