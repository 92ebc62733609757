"""The load of retention: a topic of which old segments are deleted by size and by age while it is written and read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from strandline.client.offsets import EARLIEST
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.simulation.consumers import READ_UNCOMMITTED, Consumer
from strandline.simulation.load import WantedTopic
from strandline.simulation.observed import PartitionTruth, Replica
from strandline.simulation.producers import ACKS_ALL, Producer
from strandline.simulation.written_load import WrittenLoad
from strandline.wire.messages.fetch import PartitionData
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

if TYPE_CHECKING:
    from strandline.log.log import Log
    from strandline.simulation.simulation import Simulation

TOPIC = "news"
PARTITION = TopicPartition(TOPIC, 0)
LIST_OFFSETS_VERSION = 7


class LogStartGoesUp:
    """Within one life of a log; and never beyond what is committed."""

    name = "LogStartGoesUp"

    def __init__(self) -> None:
        self._known: dict[Replica, tuple[Log, int]] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        for replica in truth.replicas.values():
            if replica.log is None or not replica.is_up or replica.is_unread:
                continue
            log, start = self._known.get(replica, (replica.log, 0))
            self._known[replica] = (replica.log, replica.log_start_offset)
            if log is replica.log and replica.log_start_offset < start:
                yield f"{replica.broker_id}: the log began at {start}, and begins at {replica.log_start_offset}"
            if replica.log_start_offset > truth.committed_end:
                yield (
                    f"{replica.broker_id}: the log begins at {replica.log_start_offset}, and no more than"
                    f" {truth.committed_end} is committed"
                )


class LateReader(Consumer):
    """Goes on where the log begins, when what it asks for has been deleted. Where that is, it asks the leader that has
    refused it, in the same epoch, as Kafka's clients do: what others have deleted may lie beyond the end of one that
    was replaced and does not know it."""

    _is_refused = False

    def _heard(self, data: PartitionData) -> None:
        self._is_refused = data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        if not self._is_refused:
            super()._heard(data)

    async def _poll(self) -> None:
        if self._leader is None or not self._is_refused:
            await super()._poll()
            return
        self._is_refused = False
        asked = ListOffsetsPartition(self.partition.partition, self._leader_epoch, EARLIEST)
        request = ListOffsetsRequest(-1, READ_UNCOMMITTED, [ListOffsetsTopic(self.partition.topic, [asked])])
        answer = await self.ask(self._leader, request, ListOffsetsResponse, LIST_OFFSETS_VERSION)
        self._heard_of_beginning(answer.topics[0].partitions[0])

    def _heard_of_beginning(self, found: ListOffsetsPartitionResponse) -> None:
        if found.error_code != ErrorCode.NONE:
            self._leader = None
        elif found.offset > self.position:
            self.position = found.offset
        else:
            self._lost_its_place()


class RetentionLoad(WrittenLoad):
    name = "retention"
    topics = (WantedTopic(TOPIC, 1, {"segment.bytes": "1024", "retention.bytes": "4096", "retention.ms": "20000"}),)
    properties: ClassVar = {
        "log.retention.check.interval.ms": "4000",
        "log.initial.task.delay.ms": "500",
        "log.segment.delete.delay.ms": "3000",
    }

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.invariants = [LogStartGoesUp()]
        self._producers: list[Producer] = []
        self._readers: list[Consumer] = []

    def start(self) -> None:
        simulation = self.simulation
        world, network, names, history = self.world, simulation.network, simulation.names, simulation.history
        # One does not wait for followers, so that there is something that is old and not committed.
        for name, acks in (("reporter", ACKS_ALL), ("stringer", 1)):
            self._producers.append(Producer(world, network, name, names, PARTITION, history, acks=acks))
        for name in ("latecomer", "subscriber"):
            self._readers.append(LateReader(world, network, name, names, PARTITION, history))
        for producer in self._producers:
            producer.pace.hurry()  # or there would be little to delete
            producer.start()
        for reader in self._readers:
            reader.start()

    def heal(self) -> None:
        super().heal()
        for reader in self._readers:
            reader.pace.hurry()

    def is_settled(self) -> bool:
        (truth,) = (truth for truth in self.simulation.observer.living if truth.name == PARTITION)
        logs = [replica.readable_log for replica in truth.replicas.values()]
        return all(reader.position >= truth.committed_end for reader in self._readers) and all(
            log is not None and not is_too_large(log) for log in logs
        )


def is_too_large(log: Log) -> bool:
    """Without its oldest segment it would still be large enough."""
    oldest, *others = log.segments.all()
    return bool(others) and log.size_bytes - oldest.size_bytes >= log.settings.retention_bytes
