"""Requests to brokers in the making: what one step has to say, one request for each broker and kind.

A broker that is not registered is told nothing; it will be told everything when it registers. Who has just registered
first hears who else is there and who leads what, then what it has to do itself: all of it in one list, by which it
finds the replicas that it should not have. If something of it must be decided first, because the broker was not trusted
with it, it is told the rest, then each decision, and the list when nothing is open any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from strandline.controller.cluster import Cluster, Partition
from strandline.controller.effects import (
    LeaderAndIsr,
    PartitionMetadata,
    PartitionOrder,
    Request,
    StoppedReplica,
    StopReplica,
    UpdateMetadata,
)
from strandline.controller.states import ReplicaState
from strandline.controller.values import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, LiveBroker
from strandline.model.partitions import TopicPartition


class Outbox:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._newcomers: dict[int, None] = {}
        self._orders: dict[int, dict[TopicPartition, PartitionOrder]] = {}
        self._stops: dict[int, dict[TopicPartition, StoppedReplica]] = {}
        self._told: dict[TopicPartition, Partition] = {}
        self._brokers_changed = False

    def order(self, partition: Partition, broker_id: int) -> None:
        """Lead, or follow."""
        leadership = partition.leadership
        if broker_id not in self._cluster.brokers or leadership is None:
            return
        topic_id = self._cluster.topics[partition.name.topic].topic_id
        is_new = partition.replicas.get(broker_id) is ReplicaState.NEW
        order = PartitionOrder(partition.name, topic_id, leadership, partition.assignment, is_new)
        self._orders.setdefault(broker_id, {})[partition.name] = order

    def stop(self, partition: Partition, broker_id: int, *, delete: bool) -> None:
        if broker_id in self._cluster.brokers:
            stopped = StoppedReplica(partition.name, self._cluster.leader_epoch(partition), delete)
            self._stops.setdefault(broker_id, {})[partition.name] = stopped

    def tell(self, partition: Partition) -> None:
        """Everybody, for their clients."""
        partition.is_told = True
        if partition.leadership is not None:
            self._told[partition.name] = partition

    def tell_brokers(self) -> None:
        """The list of brokers has changed."""
        self._brokers_changed = True

    def welcome(self, broker_id: int) -> None:
        self._newcomers[broker_id] = None
        self._cluster.without_list.add(broker_id)
        self._brokers_changed = True
        self._orders.setdefault(broker_id, {})

    def requests(self) -> Iterator[Request]:
        newcomers = [broker_id for broker_id in self._newcomers if broker_id in self._cluster.brokers]
        others = [broker_id for broker_id in sorted(self._cluster.brokers) if broker_id not in newcomers]
        if newcomers:
            yield self._update(sorted(newcomers), self._everything())
        full = {broker_id for broker_id in sorted(self._cluster.without_list) if self._order_all(broker_id)}
        self._cluster.without_list -= full
        for broker_id in sorted(self._orders):
            request = self._leader_and_isr(broker_id, tuple(self._orders[broker_id].values()), broker_id in full)
            if request.partitions or request.is_full:  # to have nothing at all is an order too
                yield request
        if others and (self._told or self._brokers_changed):
            yield self._update(others, self._told.values())
        for broker_id, stops in sorted(self._stops.items()):
            yield self._stop_replica(broker_id, tuple(stops.values()))

    def _everything(self) -> Iterator[Partition]:
        """What goes too: who was away for a session alone would show it to clients for ever."""
        for topic in self._cluster.topics.values():
            for partition in topic.partitions.values():
                if partition.leadership is not None:
                    yield partition

    def _leader_and_isr(self, broker_id: int, orders: tuple[PartitionOrder, ...], is_full: bool) -> LeaderAndIsr:
        leaders = {order.leadership.leader for order in orders}
        return LeaderAndIsr(
            broker_id,
            self._cluster.brokers[broker_id].broker_epoch,
            self._cluster.controller_id,
            self._cluster.controller_epoch,
            orders,
            tuple(self._cluster.brokers[one] for one in sorted(leaders) if one in self._cluster.brokers),
            is_full,
        )

    def _order_all(self, broker_id: int) -> bool:
        """Not as long as anything it has, or should have, is being decided, nor before it has stopped what it must."""
        held = self._cluster.partitions_on(broker_id)
        if broker_id in self._stops or not all(self._is_decided(partition, broker_id) for partition in held):
            return False
        self._orders.setdefault(broker_id, {})
        for partition in held:
            self.order(partition, broker_id)
        return True

    def _is_decided(self, partition: Partition, broker_id: int) -> bool:
        is_open = partition.leadership is None or partition.under_way is not None or broker_id in partition.unordered
        shall_go = self._cluster.topics[partition.name.topic].shall_go
        return not is_open and not shall_go and broker_id in partition.assignment.replicas

    def _update(self, recipients: Iterable[int], partitions: Iterable[Partition]) -> UpdateMetadata:
        brokers = self._cluster.brokers
        return UpdateMetadata(
            tuple((broker_id, brokers[broker_id].broker_epoch) for broker_id in recipients),
            self._cluster.controller_id,
            self._cluster.controller_epoch,
            self._all_brokers(),
            tuple(self._metadata(partition) for partition in partitions),
        )

    def _all_brokers(self) -> tuple[LiveBroker, ...]:
        return tuple(self._cluster.brokers[broker_id] for broker_id in sorted(self._cluster.brokers))

    def _metadata(self, partition: Partition) -> PartitionMetadata:
        leadership, name = partition.leadership, partition.name
        assert leadership is not None
        topic = self._cluster.topics[name.topic]
        if topic.shall_go:
            leadership = replace(leadership, leader=LEADER_DURING_DELETE, leader_epoch=EPOCH_DURING_DELETE)
        replicas = partition.assignment.replicas
        offline = tuple(broker_id for broker_id in replicas if not self._cluster.is_there(broker_id, name))
        return PartitionMetadata(name, topic.topic_id, leadership, replicas, offline)

    def _stop_replica(self, broker_id: int, stops: tuple[StoppedReplica, ...]) -> StopReplica:
        return StopReplica(
            broker_id,
            self._cluster.brokers[broker_id].broker_epoch,
            self._cluster.controller_id,
            self._cluster.controller_epoch,
            stops,
        )
