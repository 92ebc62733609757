"""A transaction coordinator with one partition of `__transaction_state`, without a broker around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast
from uuid import UUID

from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import BROKER_ID, PartitionAlone

from strandline.broker.asking import Asking
from strandline.broker.cluster_image import TRANSACTION_STATE, ClusterImage, PartitionImage, TopicImage
from strandline.broker.configuration import Configuration
from strandline.broker.led_transactions import Written
from strandline.broker.producer_ids import ProducerIdBlocks
from strandline.broker.transaction_coordinator import TransactionCoordinator
from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.simulation.disk import SimulatedDisk
from strandline.transactions.commands import AddPartitions, DescribeTransactions, EndTransaction, InitProducerId
from strandline.transactions.markers import Marker
from strandline.transactions.producer_ids import Block, ProducerIds
from strandline.transactions.replies import DescribedTransaction, InitProducerIdReply, Reply

R = TypeVar("R", bound=Reply)

NOW_MS = 1_700_000_000_000
NAME = TopicPartition(TRANSACTION_STATE, 0)
ORDERS = TopicPartition("orders", 0)
ALONE = PartitionImage(BROKER_ID, 0, (BROKER_ID,), (BROKER_ID,))


class OneBlock:
    """Producer ids without a store."""

    def __init__(self) -> None:
        self.ids = ProducerIds()
        self.ids.requested()
        self.ids.received(Block(0, 999))

    def replenish(self) -> None:
        pass


class LedTransactionPartition:
    def __init__(self, *, replicas: tuple[int, ...] = (BROKER_ID,), **properties: str) -> None:
        """With several replicas nothing is committed before `replicate`."""
        self.replicas = replicas
        self.host = ManualHost(NOW_MS)
        self.image = ClusterImage("cluster")
        self.image.put_topic(TopicImage(TRANSACTION_STATE, UUID(int=9), {0: ALONE}))
        self.configuration = Configuration({name.replace("_", "."): value for name, value in properties.items()})
        self.disk = SimulatedDisk()
        self.log = self._open_log()
        self.partition = PartitionAlone(NAME, UUID(int=9).bytes, self.log, min_insync_replicas=len(replicas))
        self.sent: list[tuple[Marker, Written]] = []
        self.coordinator = TransactionCoordinator(
            self.image, self.configuration, self.host, cast(ProducerIdBlocks, OneBlock()), self._send
        )

    def _open_log(self) -> Log:
        settings = LogSettings(cleanup_policy=("compact",), segment_index_bytes=12_000)
        return open_log(self.disk, f"/{NAME}", NAME, settings, now_ms=self.host.now_ms())

    def _send(self, markers: Sequence[Marker], written: Written) -> None:
        self.sent += [(marker, written) for marker in markers]

    def lead(self, leader_epoch: int = 0) -> None:
        self.partition.lead(leader_epoch, replicas=self.replicas, now_ms=self.host.now_ms())
        self.coordinator.led.became_leader(self.partition)

    def replicate(self) -> None:
        self.partition.replicate(self.host.now_ms())
        self.host.run_events()

    def write_markers(self, error_code: ErrorCode = ErrorCode.NONE) -> None:
        """Every marker that has gone out has this result."""
        sent, self.sent = self.sent, []
        for marker, written in sent:
            written(marker.all_partitions(error_code))

    # Requests.

    def ask(self, command: Asking[R], transactional_id: str = "t") -> list[R]:
        """What was answered; grows when the answer comes later."""
        answers: list[R] = []
        self.coordinator.ask(transactional_id, command, answers.append)
        return answers

    def init(self) -> list[InitProducerIdReply]:
        return self.ask(InitProducerId(transactional_id="t", transaction_timeout_ms=1_000))

    def begin(self, epoch: int = 0, *partitions: TopicPartition) -> ErrorCode | None:
        named = partitions or (ORDERS,)
        command = AddPartitions(transactional_id="t", producer_id=0, producer_epoch=epoch, partitions=named)
        answers = self.ask(command)
        return answers[0].results[0].error_code if answers else None

    def end(self, epoch: int = 0, *, is_commit: bool = True) -> list[ErrorCode]:
        command = EndTransaction(
            transactional_id="t", producer_id=0, producer_epoch=epoch, is_commit=is_commit, bumps_epoch=False
        )
        codes: list[ErrorCode] = []
        self.coordinator.ask("t", command, lambda reply: codes.append(reply.error_code))
        return codes

    def described(self) -> DescribedTransaction:
        (reply,) = self.ask(DescribeTransactions(transactional_ids=("t",)))
        return reply.transactions[0]
