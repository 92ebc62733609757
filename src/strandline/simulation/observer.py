"""Looks at a broker after each of its steps, and at the store after each write: nothing else can have changed."""

from __future__ import annotations

from strandline.broker.broker import Broker
from strandline.log.log import Log
from strandline.metadata import paths
from strandline.metadata.operations import Create, Delete, SetData
from strandline.metadata.transactions import Changed, Transaction
from strandline.metadata.values import decode_partition_state, decode_topic
from strandline.model.partitions import TopicPartition
from strandline.simulation.machine import Machine
from strandline.simulation.observed import PartitionTruth, Replica, logs_of, observe_role
from strandline.simulation.simulated_store import SimulatedStore

Key = tuple[bytes, int]  # topic id and partition


class Observer:
    def __init__(self, store: SimulatedStore) -> None:
        self.partitions: dict[Key, PartitionTruth] = {}
        self.changed: dict[Key, PartitionTruth] = {}  # since it was last asked
        self._store = store
        self._topics: dict[str, bytes] = {}
        self._disks: dict[int, tuple[object, int]] = {}
        store.when_written = self._written

    def take_changed(self) -> list[PartitionTruth]:
        changed, self.changed = self.changed, {}
        return list(changed.values())

    def truth(self, name: TopicPartition, topic_id: bytes) -> PartitionTruth:
        key = (topic_id, name.partition)
        if key not in self.partitions:
            self.partitions[key] = PartitionTruth(name, topic_id)
        return self.partitions[key]

    @property
    def living(self) -> list[PartitionTruth]:
        """Of topics that are there."""
        return [truth for truth in self.partitions.values() if not truth.is_deleted]

    # A broker.

    def look(self, machine: Machine) -> None:
        broker = machine.broker
        if broker is None:
            return
        machine.disk.is_watched = True
        try:
            self._look(machine, broker)
        finally:
            machine.disk.is_watched = False

    def _look(self, machine: Machine, broker: Broker) -> None:
        disk = (machine.disk, machine.disk.reshapes)
        is_reshaped, self._disks[machine.broker_id] = disk != self._disks.get(machine.broker_id), disk
        for name, topic_id, log in logs_of(broker):
            truth = self.truth(name, topic_id)
            replica = truth.replica(machine.broker_id)
            partition = broker.partitions.find(name)
            if partition is not None and partition.topic_id != topic_id:
                partition = None
            leader = None if partition is None else partition.leader
            seen = (
                log,
                log.log_end_offset,
                log.log_start_offset,
                None if partition is None else (partition.leader_epoch, partition.high_watermark),
                None if leader is None else (leader.leader_epoch, leader.isr, leader.pending),
            )
            if seen != replica.seen or is_reshaped or not replica.is_up:
                replica.seen = seen
                self._update(truth, replica, log, is_reshaped=is_reshaped)
                observe_role(replica, partition)
                self.changed[topic_id, name.partition] = truth

    def _update(self, truth: PartitionTruth, replica: Replica, log: Log, *, is_reshaped: bool) -> None:
        replica.is_up = True
        if log.failure is not None or log.is_closed:
            replica.is_unread |= log.failure is not None
            return  # nobody reads it again in this life
        if is_reshaped or replica.log is not log or log.log_end_offset < replica.log_end_offset:
            replica.read_all(log)
        else:
            replica.read_more(log)
        truth.agree(replica)

    def went_down(self, machine: Machine, *, lost_power: bool) -> None:
        for key, truth in self.partitions.items():
            replica = truth.replicas.get(machine.broker_id)
            if replica is not None:
                replica.is_up, replica.leads_in, replica.isr = False, None, ()
                replica.has_lost_power |= lost_power
                self.changed[key] = truth

    # The store.

    def _written(self, transaction: Transaction) -> None:
        if not isinstance(transaction, Changed):
            return
        for operation in transaction.operations:
            if isinstance(operation, Create | SetData | Delete) and operation.path.startswith(paths.TOPICS + "/"):
                self._topic_written(operation.path)

    def _topic_written(self, path: str) -> None:
        parts = path.split("/")[3:]
        topic, node = parts[0], self._store.tree.nodes.get(path)
        if len(parts) == 1:
            if node is not None:
                assigned = decode_topic(topic, node.data)
                self._topics[topic] = assigned.topic_id.bytes if assigned.topic_id else b""
                for index, assignment in assigned.partitions.items():
                    truth = self.truth(TopicPartition(topic, index), self._topics[topic])
                    truth.assigned = assignment.replicas
            elif topic in self._topics:
                self._topic_deleted(self._topics.pop(topic))
        elif len(parts) == 4 and node is not None and topic in self._topics:
            name = TopicPartition(topic, int(parts[2]))
            truth = self.truth(name, self._topics[topic])
            truth.stored, truth.stored_version = decode_partition_state(name, node.data), node.version
            self.changed[self._topics[topic], name.partition] = truth
            for replica in truth.replicas.values():
                if replica.broker_id not in truth.stored.isr:
                    replica.has_lost_power = False  # it has to earn its place again

    def _topic_deleted(self, topic_id: bytes) -> None:
        for key, truth in self.partitions.items():
            if truth.topic_id == topic_id:
                truth.is_deleted, truth.stored = True, None
                self.changed[key] = truth
