"""A broker to send bad input to, and what a row of reliability.md §7.2 needs to be asked."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.broker.running_broker import BrokerPeer, RunningBroker

from strandline.model.partitions import TopicPartition
from strandline.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from strandline.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strandline.broker.partition import Partition

BY_DEFAULT = -1


class Scene:
    """One broker for all rows of a module; each row has topics of its own."""

    def __init__(self, running: RunningBroker, peer: BrokerPeer) -> None:
        self.running = running
        self.peer = peer
        self._topics = 0

    def topic(self, **settings: str) -> str:
        """A new one, with a name of its own and these settings."""
        self._topics += 1
        name = f"topic-{self._topics}"
        configs = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in settings.items()]
        assert self.create(CreatableTopic(name, BY_DEFAULT, BY_DEFAULT, configs=configs)) == 0
        return name

    def create(self, topic: CreatableTopic) -> int:
        """The error code."""
        return self.peer.ask(CreateTopicsRequest([topic]), 7, CreateTopicsResponse).topics[0].error_code

    def partition(self, topic: str) -> Partition:
        partition = self.running.call(lambda: self.running.broker.partitions.find(TopicPartition(topic, 0)))
        assert partition is not None
        return partition

    def log_end_offset(self, topic: str) -> int:
        return self.running.call(lambda: self.partition_in_loop(topic).log.log_end_offset)

    def partition_in_loop(self, topic: str) -> Partition:
        """For what is called in the thread of the broker."""
        partition = self.running.broker.partitions.find(TopicPartition(topic, 0))
        assert partition is not None
        return partition

    def append(self, topic: str, *batches: bytes | bytearray, acks: int = 1, version: int = 9) -> list[int]:
        """Error codes. All but the first go the short way of requests that look alike, if they may."""
        return [answer.error_code for answer in self.peer.produce(topic, *batches, acks=acks, version=version)]

    def refusal(
        self, topic: str, bad: bytes | bytearray, good: bytes | bytearray, *, acks: int = 1, version: int = 9
    ) -> int:
        """The error code of a bad batch, as the first of its connection and after a good one. The log is as it was."""
        with self.running.peer() as other:
            (first,) = other.produce(topic, bad, acks=acks, version=version)
        before = self.log_end_offset(topic)
        taken, *codes = self.append(topic, good, bad, bad, acks=acks, version=version)
        assert taken == 0
        assert {first.error_code, *codes} == {first.error_code}
        assert self.log_end_offset(topic) == before + 1
        return first.error_code

    def produce_transactionally(self, topic: str, batch: bytes | bytearray, transactional_id: str | None) -> int:
        data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch))])
        response = self.peer.ask(ProduceRequest(transactional_id, -1, 5_000, [data]), 9, ProduceResponse)
        return response.responses[0].partition_responses[0].error_code

    def serves_on(self) -> bool:
        """Others are not harmed."""
        with self.running.peer() as other:
            return other.ask_api_versions(3).error_code == 0


@contextmanager
def scene_of(data: str, **settings: str) -> Iterator[Scene]:
    with RunningBroker(data, **settings) as running, running.peer() as peer:
        yield Scene(running, peer)


def peak_resident_kib(*, reset: bool = False) -> int:
    """The most memory that this process has held since the last reset."""
    if reset:
        with open("/proc/self/clear_refs", "w") as clear_refs:
            clear_refs.write("5")
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1])
