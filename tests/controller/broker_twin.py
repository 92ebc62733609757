"""A broker as its controller sees it: it notes its orders, keeps logs over restarts, and believes what it is told."""

from __future__ import annotations

from strandline.controller.effects import (
    LeaderAndIsr,
    PartitionMetadata,
    PartitionOrder,
    StopReplica,
    UpdateMetadata,
)
from strandline.controller.values import LEADER_DURING_DELETE, LiveBroker
from strandline.model.partitions import TopicPartition


class BrokerTwin:
    def __init__(self) -> None:
        self.logs: set[TopicPartition] = set()  # on the disk
        self.start(0)

    def start(self, broker_epoch: int) -> None:
        self.broker_epoch = broker_epoch
        self.controller_epoch = 0
        self.orders: dict[TopicPartition, PartitionOrder] = {}
        self.metadata: dict[TopicPartition, PartitionMetadata] = {}
        self.brokers: tuple[LiveBroker, ...] = ()
        self.stops: list[StopReplica] = []  # to be answered

    def accepts(self, broker_epoch: int, controller_epoch: int) -> bool:
        if broker_epoch != self.broker_epoch or controller_epoch < self.controller_epoch:
            return False
        self.controller_epoch = controller_epoch
        return True

    def lead_and_follow(self, request: LeaderAndIsr) -> None:
        if not self.accepts(request.broker_epoch, request.controller_epoch):
            return
        for order in request.partitions:
            known = self.orders.get(order.partition)
            if known is None or known.leadership.leader_epoch < order.leadership.leader_epoch:
                self.orders[order.partition] = order
                self.logs.add(order.partition)
        if request.is_full:
            named = {order.partition for order in request.partitions}
            self.logs &= named
            self.orders = {name: order for name, order in self.orders.items() if name in named}

    def stop(self, request: StopReplica) -> None:
        if not self.accepts(request.broker_epoch, request.controller_epoch):
            return
        for stopped in request.partitions:
            known = self.orders.get(stopped.partition)
            if known is not None and 0 <= stopped.leader_epoch < known.leadership.leader_epoch:
                continue
            self.orders.pop(stopped.partition, None)
            if stopped.delete:
                self.logs.discard(stopped.partition)
        self.stops.append(request)

    def update_metadata(self, broker_epoch: int, request: UpdateMetadata) -> None:
        if not self.accepts(broker_epoch, request.controller_epoch):
            return
        self.brokers = request.brokers
        for told in request.partitions:
            if told.leadership.leader == LEADER_DURING_DELETE:
                self.metadata.pop(told.partition, None)
            else:
                self.metadata[told.partition] = told
