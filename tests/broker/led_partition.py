"""A group coordinator with one partition of `__consumer_offsets`, without a broker around it."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import BROKER_ID, PartitionAlone

from strandline.broker.asking import Asking
from strandline.broker.cluster_image import CONSUMER_OFFSETS, ClusterImage, PartitionImage, TopicImage
from strandline.broker.configuration import Configuration
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.groups.commands import OffsetCommit, OffsetFetch, OffsetToCommit
from strandline.groups.formats import encode_record
from strandline.groups.records import GroupRecord, OffsetCommitKey, OffsetCommitValue
from strandline.groups.replies import OffsetCommitReply, OffsetFetchReply, Reply
from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.simulation.disk import SimulatedDisk

R = TypeVar("R", bound=Reply)

NOW_MS = 1_700_000_000_000
NAME = TopicPartition(CONSUMER_OFFSETS, 0)
ORDERS = TopicPartition("orders", 0)
ALONE = PartitionImage(BROKER_ID, 0, (BROKER_ID,), (BROKER_ID,))


class LedPartition:
    def __init__(self, *, replicas: tuple[int, ...] = (BROKER_ID,), **properties: str) -> None:
        """With several replicas nothing is committed before `partition.replicate`."""
        self.replicas = replicas
        self.host = ManualHost(NOW_MS)
        self.image = ClusterImage("cluster")
        self.configuration = Configuration({name.replace("_", "."): value for name, value in properties.items()})
        self.disk = SimulatedDisk()
        self.log = self._open_log()
        self.partition = PartitionAlone(NAME, UUID(int=9).bytes, self.log, min_insync_replicas=len(replicas))
        self.image.put_topic(TopicImage(CONSUMER_OFFSETS, UUID(int=9), {0: ALONE}))
        self.put_topic(ORDERS.topic, 1)
        self.start()

    def _open_log(self) -> Log:
        settings = LogSettings(cleanup_policy=("compact",), segment_index_bytes=12_000)
        return open_log(self.disk, f"/{NAME}", NAME, settings, now_ms=self.host.now_ms())

    def start(self) -> None:
        self.coordinator = GroupCoordinator(self.image, self.configuration, self.host)

    def lead(self, leader_epoch: int = 0) -> None:
        self.partition.lead(leader_epoch, replicas=self.replicas, now_ms=self.host.now_ms())
        self.coordinator.led.became_leader(self.partition)

    def put_topic(self, name: str, topic_id: int, partitions: int = 1) -> None:
        self.image.put_topic(TopicImage(name, UUID(int=topic_id), dict.fromkeys(range(partitions), ALONE)))

    # Requests.

    def ask(self, group: str, command: Asking[R]) -> list[R]:
        """What was answered; grows when the answer comes later."""
        answers: list[R] = []
        self.coordinator.ask(group, command, answers.append)
        return answers

    def commit(self, offset: int, group: str = "g") -> list[OffsetCommitReply]:
        return self.ask(group, commit_of(offset, group))

    def fetch(self, group: str = "g", *, require_stable: bool = False) -> list[OffsetFetchReply]:
        return self.ask(group, OffsetFetch(group=group, partitions=(ORDERS,), require_stable=require_stable))

    def committed(self, group: str = "g") -> int:
        (reply,) = self.fetch(group)
        assert reply.error_code is ErrorCode.NONE
        return reply.offsets[0].offset

    # What an earlier leader has written.

    def write(self, *batches: bytearray) -> None:
        self.log.append(batches, leader_epoch=0, now_ms=self.host.now_ms(), from_client=False)


def commit_of(offset: int, group: str = "g", metadata: str = "") -> OffsetCommit:
    entry = OffsetToCommit(topic=ORDERS.topic, partition=ORDERS.partition, offset=offset, metadata=metadata)
    return OffsetCommit(group=group, offsets=(entry,))


def offset_record(offset: int, group: str = "g") -> GroupRecord:
    value = OffsetCommitValue(offset=offset, commit_timestamp=1)
    return GroupRecord(OffsetCommitKey(group, *ORDERS), value)


def offset_batch(*offsets: int, group: str = "g", producer_id: int = -1) -> bytearray:
    records = [Record(index, 1, *encode_record(offset_record(offset, group))) for index, offset in enumerate(offsets)]
    is_transactional = producer_id >= 0
    return build_batch(
        records,
        producer_id=producer_id,
        producer_epoch=0 if is_transactional else -1,
        base_sequence=0 if is_transactional else -1,
        is_transactional=is_transactional,
    )


def errors_of(replies: list[OffsetCommitReply]) -> list[ErrorCode]:
    return [result.error_code for reply in replies for result in reply.results]
