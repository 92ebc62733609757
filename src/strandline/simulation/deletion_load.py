"""The load of deletions: a topic that is deleted and created again under the same name, again and again.

Everybody speaks of it by its id, so that what was written to one topic can be told from what its successor has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.broker.peers import PeerFailed
from strandline.model.failures import ErrorCode
from strandline.records.batch import CRC, CRC_POSITION
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.simulation.administrator import CREATE_TOPICS_VERSION
from strandline.simulation.client import SimulatedClient
from strandline.simulation.consumers import FETCH_BYTES
from strandline.simulation.load import Load, WantedTopic
from strandline.simulation.observed import batches_in, logs_of
from strandline.simulation.producers import ACKS_ALL
from strandline.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from strandline.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from strandline.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

TOPIC = "drafts"
PRODUCE_VERSION = 13
FETCH_VERSION = 13
DELETE_VERSION = 6


def named(topic_id: bytes) -> str:
    """The topic of this id among those that have the name."""
    return f"{TOPIC} {topic_id.hex()[:8]}"


class DeletionLoad(Load):
    name = "deletions"
    topics = (WantedTopic(TOPIC, 1, {}),)

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.sent: dict[int, bytes] = {}  # the topic that each batch was for, by its CRC
        self.written_us = 0
        self.recreated_us = 0
        self.is_stopping = False
        self._healed_us = 0
        self._clients: list[TopicEditor | TopicWriter | TopicReader] = []

    def start(self) -> None:
        self._clients = [TopicEditor(self, "editor"), TopicWriter(self, "writer"), TopicReader(self, "peruser")]
        for client in self._clients:
            client.begin(client.run())

    def heal(self) -> None:
        self._healed_us = self.world.now_us
        for client in self._clients:
            client.pace.hurry()

    def has_got_on(self) -> bool:
        return min(self.written_us, self.recreated_us) > self._healed_us

    def stop(self) -> None:
        self.is_stopping = True

    def is_done(self) -> bool:
        return all(client.is_done for client in self._clients)

    def is_settled(self) -> bool:
        """Nobody has anything left of what was deleted."""
        living = {truth.topic_id for truth in self.simulation.observer.living}
        brokers = [machine.broker for machine in self.simulation.machines if machine.is_serving]
        return len(brokers) == len(self.simulation.machines) and all(
            topic_id in living for broker in brokers if broker is not None for _, topic_id, _ in logs_of(broker)
        )


class TopicClient(SimulatedClient):
    def __init__(self, load: DeletionLoad, name: str) -> None:
        simulation = load.simulation
        super().__init__(load.world, simulation.network, name, simulation.names)
        self.load = load
        self.is_done = False


class TopicEditor(TopicClient):
    """Deletes it, by name or by id, and creates it. A deletion by name that was given up may be done when another has
    the name: then that one is gone, too, and there is nothing left to delete.

    That a topic is unknown is no acknowledgement. It may be gone by an attempt of which no answer came; or the
    controller that says so was replaced while it was cut off from the store, and the topic came after it: Kafka's
    answers then from what it last knew, too. So a topic that is seen again after such an answer is deleted again.
    One whose deletion was acknowledged is not: it has to go.
    """

    async def run(self) -> None:
        topic_id = (await self.topic(TOPIC)).topic_id
        while not self.load.is_stopping:
            await self.pause(self.pace.of(self.chance.randint(1_000, 12_000)))
            by_id = self.chance.random() < 0.5
            is_acknowledged = await self._delete(topic_id, by_id)
            await self.pause(self.chance.choice((0, 100, 3_000)))
            topic_id = await self._create(topic_id, is_acknowledged)
            self.load.recreated_us = self.world.now_us
        self.is_done = True

    async def _delete(self, topic_id: bytes, by_id: bool) -> bool:
        """Until it is deleted, or unknown to who should know: whether it is the first."""
        state = DeleteTopicState(None, topic_id) if by_id else DeleteTopicState(TOPIC)
        while True:
            request = DeleteTopicsRequest(topics=[state], timeout_ms=self.request_timeout_ms)
            broker = self.any_broker()
            try:
                answer = await self.ask(broker, request, DeleteTopicsResponse, DELETE_VERSION)
                error_code = answer.responses[0].error_code
                if error_code == ErrorCode.NONE:
                    self.world.tell(f"{named(topic_id)} is deleted")
                    return True
                if error_code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID):
                    self.world.tell(f"{named(topic_id)} is unknown to {broker}")
                    return False
            except PeerFailed:
                pass
            await self.pause(self.retry_backoff_ms)

    async def _create(self, old_id: bytes, is_acknowledged: bool) -> bytes:
        """Until there is one, of whatever attempt."""
        while True:
            wanted = CreatableTopic(TOPIC, 1, self.load.simulation.options.brokers, [], [])
            request = CreateTopicsRequest([wanted], self.request_timeout_ms, False)
            try:
                await self.ask(self.any_broker(), request, CreateTopicsResponse, CREATE_TOPICS_VERSION)
                topic = await self.known_topic(TOPIC)
                if topic is not None and topic.topic_id != old_id:
                    self.world.tell(f"{named(topic.topic_id)} is there")
                    return topic.topic_id
                if topic is not None and not is_acknowledged:
                    is_acknowledged = await self._delete(old_id, by_id=True)  # the name may be its successor's by now
            except PeerFailed:
                pass
            await self.pause(self.retry_backoff_ms)


class TopicWriter(TopicClient):
    """What is not acknowledged is not sent again."""

    async def run(self) -> None:
        number = 0
        while not self.load.is_stopping:
            topic = await self.topic(TOPIC)
            leader = topic.partitions[0].leader_id if topic.partitions else -1
            for _ in range(self.chance.randint(1, 10)):
                number += 1
                if leader < 0 or not await self._write(topic.topic_id, f"b{leader}", number):
                    break
            await self.pause(self.pace.pause_ms())
        self.is_done = True

    async def _write(self, topic_id: bytes, leader: str, number: int) -> bool:
        data = build_batch([Record(0, self.host.now_ms(), None, f"{self.name}/{number}".encode())])
        (crc,) = CRC.unpack_from(data, CRC_POSITION)
        self.load.sent[crc] = topic_id
        topic = TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(0, bytes(data))])
        request = ProduceRequest(None, ACKS_ALL, 3_000, [topic])
        batch = f"{self.name}: batch {number} for {named(topic_id)}, crc {crc:08x},"
        self.world.note(f"{batch} is sent to {leader} with acks=all")
        try:
            answer = await self.ask(leader, request, ProduceResponse, PRODUCE_VERSION)
        except PeerFailed as failure:
            self.world.note(f"{batch} is not answered by {leader}: {failure}")
            return False
        result = answer.responses[0].partition_responses[0]
        if result.error_code:
            self.world.note(f"{batch} is refused by {leader}: {ErrorCode(result.error_code).name}")
            return False
        self.world.note(f"{batch} is acknowledged by {leader} at offset {result.base_offset}")
        self._acknowledged(topic_id, crc, result.base_offset)
        return True

    def _acknowledged(self, topic_id: bytes, crc: int, offset: int) -> None:
        self.load.simulation.history.acknowledged_count += 1
        self.load.written_us = self.world.now_us
        truth = self.load.simulation.observer.partitions.get((topic_id, 0))
        batch = None if truth is None else truth.committed_at(offset)
        if batch is None or batch.crc != crc:
            self.load.complain("AcknowledgedStays", f"{self.name} wrote crc {crc:08x} at {offset}, and it is not there")


class TopicReader(TopicClient):
    async def run(self) -> None:
        positions: dict[bytes, int] = {}
        while not self.load.is_stopping:
            topic = await self.topic(TOPIC)
            if topic.partitions and topic.partitions[0].leader_id >= 0:
                position = positions.get(topic.topic_id, 0)
                positions[topic.topic_id] = await self._read(
                    topic.topic_id, f"b{topic.partitions[0].leader_id}", position
                )
            await self.pause(self.pace.pause_ms())
        self.is_done = True

    async def _read(self, topic_id: bytes, leader: str, position: int) -> int:
        asked = FetchPartition(0, -1, position, -1, -1, FETCH_BYTES)
        request = FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            session_epoch=-1,
            topics=[FetchTopic(topic_id=topic_id, partitions=[asked])],
        )
        try:
            answer = await self.ask(leader, request, FetchResponse, FETCH_VERSION)
        except PeerFailed as failure:
            self._note(leader, topic_id, position, f"hears nothing: {failure}")
            return position
        data = answer.responses[0].partitions[0] if answer.responses else None
        error_code = answer.error_code if data is None else data.error_code
        if error_code:
            self._note(leader, topic_id, position, f"is refused: {ErrorCode(error_code).name}")
        if data is None or data.error_code or not isinstance(data.records, bytes | memoryview):
            return position
        truth = self.load.simulation.observer.partitions[topic_id, 0]
        for batch in batches_in(bytes(data.records)):
            self._note(leader, topic_id, position, f"gets {batch}")
            position = batch.last_offset + 1
            self.load.simulation.history.read_count += 1
            if self.load.sent.get(batch.crc) != topic_id:
                self.load.complain("ReadsAreTrue", f"{self.name} read {batch}, which was not written to this topic")
            elif truth.committed_at(batch.base_offset) != batch:
                self.load.complain("ReadsAreTrue", f"{self.name} read {batch}, which is not committed")
        return position

    def _note(self, leader: str, topic_id: bytes, position: int, outcome: str) -> None:
        self.world.note(f"{self.name} asks {leader} for {named(topic_id)} from {position} on and {outcome}")
