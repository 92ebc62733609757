"""A broker as its controller sees it: it notes its orders, keeps logs over restarts, and believes what it is told."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from strandline.controller.effects import (
    LeaderAndIsr,
    PartitionMetadata,
    PartitionOrder,
    StopReplica,
    UpdateMetadata,
)
from strandline.controller.values import LEADER_DURING_DELETE, LiveBroker
from strandline.model.partitions import TopicPartition


class Led(NamedTuple):
    partition: TopicPartition
    topic_id: UUID | None
    leader_epoch: int


class BrokerTwin:
    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.logs: set[TopicPartition] = set()  # on the disk
        self.orders: dict[TopicPartition, PartitionOrder] = {}
        self.led_before: set[Led] = set()  # what it led in an earlier life, by order of which controller
        self.controller_epoch = 0
        self.start(0)

    def start(self, broker_epoch: int) -> None:
        led = (order for order in self.orders.values() if order.leadership.leader == self.broker_id)
        self.led_before |= {Led(order.partition, order.topic_id, order.leadership.leader_epoch) for order in led}
        self.led_under = self.controller_epoch
        self.broker_epoch = broker_epoch
        self.controller_epoch = 0
        self.orders = {}
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
            self._check_does_not_lead_on(order)
            known = self.orders.get(order.partition)
            if known is None or known.leadership.leader_epoch < order.leadership.leader_epoch:
                self.orders[order.partition] = order
                self.logs.add(order.partition)
        if request.is_full:
            named = {order.partition for order in request.partitions}
            self.logs &= named
            self.orders = {name: order for name, order in self.orders.items() if name in named}

    def _check_does_not_lead_on(self, order: PartitionOrder) -> None:
        """It may have lost what it had; its followers must not cut their logs to what it has. Only a controller that
        came after the restart cannot know of it.
        """
        if order.leadership.leader == self.broker_id and self.controller_epoch == self.led_under:
            led = Led(order.partition, order.topic_id, order.leadership.leader_epoch)
            assert led not in self.led_before, f"{self.broker_id} leads {led} on after a restart"

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
