"""A whole broker on an event loop in a thread of its own, and a peer that speaks to it in messages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Self, TypeVar

from tests.broker.kafka_peer import WAIT_S, KafkaPeer

from strandline.broker import event_loop
from strandline.broker.broker import Broker
from strandline.metadata.embedded import EmbeddedStore
from strandline.records.builder import build_batch
from strandline.records.record import Record
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from strandline.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

T = TypeVar("T")


class RunningBroker:
    def __init__(self, data: str, **settings: str) -> None:
        self.broker: Broker
        self._properties = {
            "log.dirs": data,
            "listeners": "PLAINTEXT://127.0.0.1:0",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=lambda: event_loop.run(self._run()))

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop = self._started.result(WAIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()

    @property
    def address(self) -> tuple[str, int]:
        return self.broker.addresses[0]

    @property
    def store(self) -> EmbeddedStore:
        assert self.broker.own_store is not None
        return self.broker.own_store

    def peer(self) -> BrokerPeer:
        return BrokerPeer(self.address)

    def call(self, function: Callable[[], T]) -> T:
        """In the thread that owns the broker's state."""
        done: Future[T] = Future()
        self._loop.call_soon_threadsafe(lambda: done.set_result(function()))
        return done.result(WAIT_S)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Asked between the turns of the event loop."""

        async def ask() -> None:
            while not holds():
                await asyncio.sleep(0.001)

        asyncio.run_coroutine_threadsafe(ask(), self._loop).result(WAIT_S)

    async def _run(self) -> None:
        self.broker = Broker(self._properties)
        try:
            await self.broker.start()
        except BaseException as failure:
            self._started.set_exception(failure)
            return
        self._started.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        await self.broker.stop()


class BrokerPeer(KafkaPeer):
    def create_topic(self, name: str) -> bytes:
        """By asking for it; gives its id."""
        request = MetadataRequest([MetadataRequestTopic(name=name)])
        (topic,) = self.ask(request, 12, MetadataResponse).topics
        assert topic.error_code == 0
        return topic.topic_id

    def produce(
        self, topic: str, *batches: bytes | bytearray, acks: int = 1, version: int = 9
    ) -> list[PartitionProduceResponse]:
        """Each batch in a request of its own, all sent at once."""
        for batch in batches:
            data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(batch))])
            self.tell(ProduceRequest(None, acks, 5_000, [data]), version)
        answers = [self.hear(version, ProduceResponse) for _ in batches]
        return [answer.responses[0].partition_responses[0] for answer in answers]


def batch_of(*values: bytes, timestamp: int = 1_000, **fields: int) -> bytearray:
    records = [Record(offset, timestamp, None, value) for offset, value in enumerate(values)]
    return build_batch(records, **fields)  # type: ignore[arg-type]
