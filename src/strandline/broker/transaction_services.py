"""Everything of a broker that has to do with transactions, put together.

coordinator     the transactional ids of the partitions of `__transaction_state` that we lead
marker_sender   from it to the leaders of partitions;    marker_writer   into the partitions that we lead
gate            who may begin a transaction there;       questions       from the gate to coordinators
producer_ids    for transactional ids and for idempotent producers
"""

from __future__ import annotations

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.configuration import Configuration
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.host import Host
from strandline.broker.marker_sending import MarkerSender
from strandline.broker.marker_writing import MarkerWriter
from strandline.broker.partition import Partition
from strandline.broker.partitions import Partitions
from strandline.broker.peers import Peers
from strandline.broker.producer_ids import ProducerIdBlocks
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.broker.transaction_gate import TransactionGate
from strandline.broker.transaction_questions import TransactionQuestions
from strandline.broker.transactional_produce import ProduceInTransactions
from strandline.metadata.store import Session


class TransactionServices:
    """`connect` it to the other brokers before clients come."""

    questions: TransactionQuestions
    produce: ProduceInTransactions

    def __init__(
        self,
        broker_id: int,
        image: ClusterImage,
        configuration: Configuration,
        partitions: Partitions,
        groups: GroupCoordinator,
        session: Session,
        host: Host,
    ) -> None:
        self._broker_id = broker_id
        self._groups = groups
        self._host = host
        self.producer_ids = ProducerIdBlocks(session, broker_id, host)
        self.marker_sender = MarkerSender(image, session, host)
        self.coordinator = TransactionCoordinator(
            image, configuration, host, self.producer_ids, self.marker_sender.send
        )
        self.marker_sender.when_deleted = self.coordinator.partitions_deleted
        self.gate = TransactionGate(host)
        self.marker_writer = MarkerWriter(partitions, groups, self.gate, host)

    def connect(self, peers: Peers) -> None:
        self.marker_sender.peers = peers
        self.questions = TransactionQuestions(self._broker_id, self.coordinator, peers, self._host)
        self.produce = ProduceInTransactions(self.gate, self.questions, lambda: self.coordinator.settings, self._host)

    # Leadership, for the coordinator of groups too.

    def became_leader(self, partition: Partition) -> None:
        self._groups.led.became_leader(partition)
        self.coordinator.led.became_leader(partition)

    def resigned(self, partition: Partition) -> None:
        self.gate.resigned(partition)
        self._groups.led.resigned(partition)
        self.coordinator.led.resigned(partition)

    def close(self) -> None:
        self.coordinator.led.close()
