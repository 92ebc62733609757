"""Looks at a broker after each of its steps, and at the store after each write: nothing else can have changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from strandline.broker.broker import Broker
from strandline.broker.partition import Partition
from strandline.log.log import Log
from strandline.metadata import paths
from strandline.metadata.operations import Create, Delete, SetData
from strandline.metadata.transactions import Changed, Transaction
from strandline.metadata.values import decode_partition_state, decode_topic
from strandline.model.partitions import TopicPartition
from strandline.simulation.machine import Machine
from strandline.simulation.observed import Batch, PartitionTruth, Replica, batches_from, logs_of, observe_role
from strandline.simulation.simulated_store import SimulatedStore

Key = tuple[bytes, int]  # topic id and partition
Seen = tuple[object, ...]  # whatever may be another after a step; as long as it is the same, nothing has happened here
NO_PARTITIONS: dict[int, Partition] = {}


class Place(NamedTuple):
    topic: str
    partition_index: int
    log: Log
    truth: PartitionTruth
    replica: Replica


class Known(NamedTuple):
    """What a broker has, and what it was found by."""

    logs: list[Log]
    ids: int
    places: list[Place]


class Observer:
    def __init__(self, store: SimulatedStore) -> None:
        self.partitions: dict[Key, PartitionTruth] = {}
        self.changed: dict[Key, PartitionTruth] = {}  # since it was last asked
        self._store = store
        self._topics: dict[str, bytes] = {}
        self._known: dict[int, Known] = {}
        store.when_written.append(self._written)

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

    def leadership(self, broker: str, name: TopicPartition) -> int | None:
        """The epoch in which it leads a partition, and knows it. One that was replaced and does not know it answers
        from what it has, in Kafka too: what it says is not held against anybody."""
        for truth in self.partitions.values():
            if truth.name == name and truth.stored is not None and f"b{truth.stored.leader}" == broker:
                leads_in = truth.replica(truth.stored.leader).leads_in
                return leads_in if leads_in == truth.stored.leader_epoch else None
        return None

    # A broker.

    def look(self, machine: Machine, broker: Broker) -> None:
        machine.disk.is_watched = True
        try:
            self._look(machine, broker)
        finally:
            machine.disk.is_watched = False

    def read_again(self, machine: Machine) -> Iterator[tuple[PartitionTruth, int, dict[int, Batch]]]:
        """Of each partition that is assigned to it, where its log begins, and what is there by base offset."""
        with machine.watched():
            for truth in self.living:
                log = truth.replica(machine.broker_id).readable_log
                if machine.broker_id in truth.assigned and log is not None:
                    batches = batches_from(log, log.log_start_offset)
                    yield truth, log.log_start_offset, {batch.base_offset: batch for batch in batches}

    def _look(self, machine: Machine, broker: Broker) -> None:
        """At every step, so whatever is as it was must cost little."""
        by_name, reshapes = broker.partitions.by_name, machine.disk.reshapes
        for topic, index, log, truth, replica in self._places_on(machine, broker):
            partition = by_name.get(topic, NO_PARTITIONS).get(index)
            if partition is None or partition.topic_id != truth.topic_id:
                seen: Seen = (log, log.log_end_offset, log.log_start_offset)
                partition = None
            elif (leader := partition.leader) is None:
                seen = (
                    log, log.log_end_offset, log.log_start_offset, partition.high_watermark, partition.leader_epoch
                )  # fmt: skip
            else:
                seen = (
                    log, log.log_end_offset, log.log_start_offset, partition.high_watermark, partition.leader_epoch,
                    leader.leader_epoch, leader.high_watermark, leader.isr, leader.pending,
                )  # fmt: skip
            if seen != replica.seen or not replica.is_up or reshapes.get(log.directory, 0) != replica.reshapes:
                self._changed(replica, log, partition, reshapes.get(log.directory, 0))
                replica.seen = seen
                self.changed[truth.topic_id, index] = truth

    def _changed(self, replica: Replica, log: Log, partition: Partition | None, reshapes: int) -> None:
        replica.is_changed = True
        is_reshaped, replica.reshapes = reshapes != replica.reshapes, reshapes
        self._update(replica, log, is_reshaped=is_reshaped)
        observe_role(replica, partition)

    def _places_on(self, machine: Machine, broker: Broker) -> list[Place]:
        """They are the same ones at nearly every step."""
        if not hasattr(broker, "directories"):
            return []  # it is still being opened
        logs: list[Log] = []
        ids = 0
        for directory in broker.directories.directories:
            logs += directory.logs.values()
            ids += len(directory.topic_ids)
        known = self._known.get(machine.broker_id)
        if known is None or known.logs != logs or known.ids != ids:
            places = [self._place(machine, *found) for found in logs_of(broker)]
            known = self._known[machine.broker_id] = Known(logs, ids, places)
        return known.places

    def _place(self, machine: Machine, name: TopicPartition, topic_id: bytes, log: Log) -> Place:
        truth = self.truth(name, topic_id)
        return Place(name.topic, name.partition, log, truth, truth.replica(machine.broker_id))

    def _update(self, replica: Replica, log: Log, *, is_reshaped: bool) -> None:
        replica.is_up = True
        if log.failure is not None or log.is_closed:
            replica.is_unread |= log.failure is not None
            return  # nobody reads it again in this life
        if is_reshaped or replica.log is not log or log.log_end_offset < replica.log_end_offset:
            replica.read_all(log)
        else:
            replica.read_more(log)

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
