"""A producer against scripted leaders: what is sent, in which batches, again after which errors, and in order."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.client.scripted_broker import HANG_UP, SILENCE, TOPIC_ID, Answer, ScriptedBroker, names_of

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused, ClientError, NoTopic
from strandline.client.outgoing import Place
from strandline.client.partitioner import partition_of_key
from strandline.client.producer import Producer
from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.records.batch import verify_batch
from strandline.records.compression import codec_of
from strandline.records.record import Record, read_records
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from strandline.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from strandline.wire.versions import ApiKey

ORDERS_0 = TopicPartition("orders", 0)


class Leader(ScriptedBroker):
    """Appends, deduplicates by sequence as a broker does, and fails as `errors` says, first error first."""

    def __init__(self, node_id: int = 1, **others: Any) -> None:
        super().__init__(node_id, **others)
        self.leaders = {"orders": [node_id]}
        self.log: defaultdict[int, list[Record]] = defaultdict(list)
        self.sent: list[list[tuple[int, int, int]]] = []  # of each request: partition, base sequence, records
        self.errors: list[ErrorCode | str] = []  # to answer with; "lost": append, then hang up
        self.identities = iter(range(100, 200))
        self.answers[ProduceRequest] = self.produce
        self.answers[InitProducerIdRequest] = lambda _: InitProducerIdResponse(producer_id=next(self.identities))
        self._last_sequences: dict[tuple[int, int], int] = {}

    def produce(self, request: ProduceRequest) -> Answer:
        error = self.errors.pop(0) if self.errors else ErrorCode.NONE
        response = ProduceResponse()
        sent = []
        for topic in request.topic_data:
            answer = TopicProduceResponse(topic.name, topic.topic_id)
            response.responses.append(answer)
            for data in topic.partition_data:
                assert isinstance(data.records, memoryview)
                head = verify_batch(data.records)
                sent.append((data.index, head.base_sequence, head.record_count))
                base_offset = len(self.log[data.index])
                code = error if isinstance(error, ErrorCode) else ErrorCode.NONE
                if code == ErrorCode.NONE:
                    self._append(data.index, data.records)
                answer.partition_responses.append(PartitionProduceResponse(data.index, code, base_offset))
        self.sent.append(sent)
        if error == "lost":
            return HANG_UP
        return b"" if request.acks == 0 else response

    def _append(self, partition: int, batch: memoryview) -> None:
        head = verify_batch(batch)
        key = partition, head.producer_id
        if head.base_sequence >= 0:
            if head.base_sequence <= self._last_sequences.get(key, -1):
                return
            assert head.base_sequence == self._last_sequences.get(key, -1) + 1
            self._last_sequences[key] = head.last_sequence
        self.log[partition] += read_records(batch)

    def values(self, partition: int = 0) -> list[bytes | None]:
        return [record.value for record in self.log[partition]]


def play(scene: Callable[[Leader], Coroutine[Any, Any, None]], **others: Any) -> Leader:
    async def run() -> Leader:
        async with Leader(**others) as leader:
            await scene(leader)
        return leader

    return asyncio.run(run())


def test_records_arrive_as_they_were_sent() -> None:
    async def scene(leader: Leader) -> None:
        async with Cluster(leader.settings()) as cluster, Producer(cluster) as producer:
            delivery = await producer.send(
                "orders", b"value", key=b"key", headers=(("a", b"1"), ("b", None)), timestamp_ms=1234
            )
            tombstone = await producer.send("orders", None, key=b"key")
            assert await delivery.place() == Place(ORDERS_0, 0)
            assert await tombstone.place() == Place(ORDERS_0, 1)
        assert (producer.record_count, producer.delivered_count, producer.failure) == (2, 2, None)

    first, second = play(scene).log[0]
    assert first[1:] == (1234, b"key", b"value", (("a", b"1"), ("b", None)))
    assert second.value is None
    assert second.timestamp > 1_700_000_000_000


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_are_filled_and_compressed(codec: str) -> None:
    values = [b"value %d" % number for number in range(1000)]
    codecs = set()

    async def scene(leader: Leader) -> None:
        def look(request: ProduceRequest) -> Answer:
            records = request.topic_data[0].partition_data[0].records
            assert isinstance(records, memoryview)
            codecs.add(codec_of(verify_batch(records).attributes).name.lower())
            return leader.produce(request)

        leader.answers[ProduceRequest] = look
        settings = leader.settings(compression_type=codec, batch_size=4000)
        async with Cluster(settings) as cluster, Producer(cluster) as producer:
            for value in values:
                await producer.send("orders", value)

    leader = play(scene)
    assert leader.values() == values
    assert codecs == {codec}
    counts = [count for sent in leader.sent for _, _, count in sent]
    assert len(counts) < 20
    assert max(counts) > 50


def test_a_record_goes_where_its_key_or_its_sender_says() -> None:
    async def scene(leader: Leader) -> None:
        leader.leaders = {"orders": [1, 1, 1]}
        async with Cluster(leader.settings()) as cluster, Producer(cluster) as producer:
            for number in range(30):
                await producer.send("orders", b"%d" % number, key=b"k%d" % number)
            await producer.send("orders", b"here", partition=2)
            with pytest.raises(ClientError, match="topic orders has no partition 3: it has 0 to 2"):
                await producer.send("orders", b"", partition=3)

    leader = play(scene)
    assert leader.values(2)[-1] == b"here"
    for partition in range(3):
        for record in leader.log[partition]:
            assert record.key is None or partition_of_key(record.key, 3) == partition


def test_an_answer_that_was_lost_neither_doubles_nor_reorders() -> None:
    """SPEC P2: sent again with the same sequence, byte for byte."""

    async def scene(leader: Leader) -> None:
        leader.errors = ["lost", ErrorCode.NOT_LEADER_OR_FOLLOWER, "lost", ErrorCode.REQUEST_TIMED_OUT]
        async with Cluster(leader.settings(linger_ms=0)) as cluster, Producer(cluster) as producer:
            for number in range(20):
                await producer.send("orders", b"%d" % number)
                await producer.flush()
        assert producer.failure is None

    leader = play(scene)
    assert leader.values() == [b"%d" % number for number in range(20)]
    assert [sequence for sent in leader.sent for _, sequence, _ in sent][:6] == [0, 0, 0, 0, 0, 1]
    assert len(leader.received(InitProducerIdRequest)) == 1


def test_a_duplicate_that_the_broker_reports_is_a_success() -> None:
    async def scene(leader: Leader) -> None:
        leader.errors = [ErrorCode.DUPLICATE_SEQUENCE_NUMBER]
        async with Cluster(leader.settings()) as cluster, Producer(cluster) as producer:
            delivery = await producer.send("orders", b"x")
            assert await delivery.place() == Place(ORDERS_0, -1)

    play(scene)


def test_without_idempotence_there_is_no_identity() -> None:
    async def scene(leader: Leader) -> None:
        for settings in ({"enable_idempotence": False}, {"acks": "1"}):
            async with Cluster(leader.settings(**settings)) as cluster, Producer(cluster) as producer:
                await producer.send("orders", b"x")

    leader = play(scene)
    assert [sent for (sent,) in leader.sent] == [(0, -1, 1), (0, -1, 1)]
    assert [request.acks for request in leader.received(ProduceRequest)] == [-1, 1]
    assert not leader.received(InitProducerIdRequest)


def test_a_broker_without_identities_is_written_to_all_the_same() -> None:
    async def scene(leader: Leader) -> None:
        async with Cluster(leader.settings()) as cluster, Producer(cluster) as producer:
            await producer.send("orders", b"x")

    assert play(scene, versions={ApiKey.API_VERSIONS: (0, 4), 3: (0, 13), 0: (0, 11)}).values() == [b"x"]


def test_topics_have_names_or_ids_by_the_version() -> None:
    async def scene(leader: Leader) -> None:
        async with Cluster(leader.settings()) as cluster, Producer(cluster) as producer:
            await producer.send("orders", b"x")

    (by_name,) = play(scene, versions={18: (0, 4), 3: (0, 13), 0: (0, 12)}).received(ProduceRequest)
    (by_id,) = play(scene).received(ProduceRequest)
    assert (by_name.topic_data[0].name, by_id.topic_data[0].topic_id) == ("orders", TOPIC_ID)


def test_no_acks_wait_for_nothing() -> None:
    async def scene(leader: Leader) -> None:
        async with Cluster(leader.settings(acks="0")) as cluster, Producer(cluster) as producer:
            delivery = await producer.send("orders", b"x")
            assert await delivery.place() == Place(ORDERS_0, -1)
        while not leader.values():
            await asyncio.sleep(0.001)

    assert play(scene).values() == [b"x"]


def test_a_refusal_that_will_not_pass_fails_the_record_and_renews_the_identity() -> None:
    async def scene(leader: Leader) -> None:
        leader.errors = [ErrorCode.NONE, ErrorCode.MESSAGE_TOO_LARGE]
        async with Cluster(leader.settings()) as cluster, Producer(cluster) as producer:
            deliveries = []
            for value in (b"good", b"too large", b"good again"):
                deliveries.append(await producer.send("orders", value))
                await producer.flush()
            with pytest.raises(BrokerRefused, match=r"^orders-0: the batch is larger than max.message.bytes"):
                await deliveries[1].place()
            assert (await deliveries[2].place()).offset == 1
            assert isinstance(producer.failure, BrokerRefused)

    leader = play(scene)
    assert leader.values() == [b"good", b"good again"]
    assert [sequence for sent in leader.sent for _, sequence, _ in sent] == [0, 1, 0]
    assert len(leader.received(InitProducerIdRequest)) == 2


def test_what_is_not_delivered_in_time_fails() -> None:
    async def scene(leader: Leader) -> None:
        leader.errors = [ErrorCode.NOT_ENOUGH_REPLICAS] * 1000
        async with Cluster(leader.settings(delivery_timeout_ms=40)) as cluster, Producer(cluster) as producer:
            delivery = await producer.send("orders", b"x")
            with pytest.raises(BrokerRefused, match="NOT_ENOUGH_REPLICAS"):
                await delivery.place()

    assert len(play(scene).sent) > 2


def test_a_leader_that_moves_is_followed() -> None:
    async def run() -> None:
        async with Leader(1) as one, Leader(2) as two:
            one.peers = two.peers = [one, two]

            def moved(request: ProduceRequest) -> Answer:
                one.leaders = two.leaders = {"orders": [2]}
                one.errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
                return one.produce(request)

            one.answers[ProduceRequest] = moved
            async with Cluster(one.settings()) as cluster, Producer(cluster) as producer:
                delivery = await producer.send("orders", b"x")
                assert await delivery.place() == Place(ORDERS_0, 0)
            assert (one.values(), two.values()) == ([], [b"x"])

    asyncio.run(run())


def test_a_cluster_that_is_gone_is_waited_for_until_the_deadline_and_no_longer() -> None:
    async def send_many(producer: Producer) -> None:
        for _ in range(1000):
            await producer.send("orders", bytes(100), partition=0)

    async def scene(leader: Leader) -> None:
        leader.answers[ProduceRequest] = lambda _: SILENCE
        settings = leader.settings(delivery_timeout_ms=60, default_api_timeout_ms=30, batch_size=200)
        async with Cluster(settings) as cluster, Producer(cluster) as producer:
            sending = asyncio.create_task(send_many(producer))
            while not leader.received(ProduceRequest):
                await asyncio.sleep(0.001)
            leader.stop()  # while the queue is full, and the one who fills it waits
            with pytest.raises(ClientError):
                await asyncio.wait_for(sending, 10)
            await asyncio.wait_for(producer.flush(), 10)
            assert isinstance(producer.failure, ClientError)
        assert 0 < producer.record_count < 1000
        assert producer.delivered_count == 0

    play(scene)


def test_a_partition_without_leader_holds_up_no_other() -> None:
    async def scene(leader: Leader) -> None:
        leader.leaders = {"orders": [-1, 1]}
        settings = leader.settings(delivery_timeout_ms=60)
        async with Cluster(settings) as cluster, Producer(cluster) as producer:
            stuck = await producer.send("orders", b"stuck", partition=0)
            fine = await producer.send("orders", b"fine", partition=1)
            assert (await fine.place()).offset == 0
            with pytest.raises(BrokerRefused, match="LEADER_NOT_AVAILABLE"):
                await stuck.place()

    assert play(scene).values(1) == [b"fine"]


def test_memory_is_bounded() -> None:
    async def scene(leader: Leader) -> None:
        held = 0
        settings = leader.settings(buffer_memory=10_000, batch_size=2_000)
        async with Cluster(settings) as cluster, Producer(cluster) as producer:
            for _ in range(300):
                await producer.send("orders", bytes(500))
                held = max(held, producer.record_count - producer.delivered_count)
        assert held < 40

    assert len(play(scene).values()) == 300


def test_a_record_that_no_request_can_hold_is_refused_at_once() -> None:
    async def scene(leader: Leader) -> None:
        async with Cluster(leader.settings(max_request_size=1000)) as cluster, Producer(cluster) as producer:
            with pytest.raises(ClientError, match=r"larger than max\.request\.size=1000"):
                await producer.send("orders", bytes(1000))

    assert not play(scene).sent


def test_a_bug_of_ours_is_seen_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    async def scene(leader: Leader) -> None:
        monkeypatch.setattr("strandline.client.producer.deliver", broken)
        async with Cluster(leader.settings()) as cluster:
            producer = Producer(cluster)
            await producer.send("orders", b"x")
            with pytest.raises(ZeroDivisionError):
                await asyncio.wait_for(producer.flush(), 10)

    play(scene)


def test_a_topic_that_does_not_exist_is_told_when_sending() -> None:
    async def scene(leader: Leader) -> None:
        async with Cluster(leader.settings()) as cluster, Producer(cluster) as producer:
            with pytest.raises(NoTopic):
                await producer.send("nosuch", b"x")

    assert "Produce" not in names_of(play(scene).requests)
