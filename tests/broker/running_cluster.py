"""Three brokers on one embedded store and one event loop in a thread of its own: a cluster in less than a second."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Self, TypeVar

from tests.broker.admin_peer import AdminPeer, topic
from tests.broker.kafka_peer import WAIT_S
from tests.broker.running_broker import batch_of

from strandline.broker import event_loop
from strandline.broker.broker import Broker
from strandline.broker.host import LoopHost
from strandline.broker.store_loop import StoreLoop
from strandline.log.filesystem import RealFileSystem
from strandline.metadata.answer import Answer
from strandline.metadata.embedded import EmbeddedStore
from strandline.metadata.store import Session
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.metadata import MetadataResponsePartition

T = TypeVar("T")
SETTINGS = {
    "strandline.journal.enable": "false",  # a topic more in one of the directories, at a time of its own
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "advertised.listeners": "",
    "offsets.topic.num.partitions": "1",
    "replica.lag.time.max.ms": "1000",
    "replica.fetch.wait.max.ms": "50",
    "replica.fetch.backoff.ms": "50",
    "controlled.shutdown.retry.backoff.ms": "50",
}


class RunningCluster:
    def __init__(self, directory: Path, brokers: int = 3, log_dirs: int = 1, **settings: str) -> None:
        self.brokers: dict[int, Broker] = {}
        self._directory = directory
        self._broker_ids = range(1, brokers + 1)
        self._log_dirs = log_dirs
        self._settings = SETTINGS | {name.replace("_", "."): value for name, value in settings.items()}
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

    async def _run(self) -> None:
        host = LoopHost(1)
        store_loop = StoreLoop(host)
        (self._directory / "store").mkdir()
        self._store = EmbeddedStore.open(
            RealFileSystem(), str(self._directory / "store"), clock_ms=host.now_ms, wake=store_loop.wake
        )
        store_loop.runs(self._store)
        try:
            for broker_id in self._broker_ids:
                await self._start(broker_id)
        except BaseException as failure:
            self._started.set_exception(failure)
            return
        self._started.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        for broker_id in sorted(self.brokers):
            await self.brokers.pop(broker_id).stop()
        self._store.close()
        host.close()

    async def _start(self, broker_id: int) -> None:
        broker = self._broker(broker_id)
        await broker.start()
        self.brokers[broker_id] = broker

    def _broker(self, broker_id: int) -> Broker:
        properties = {"broker.id": str(broker_id), "log.dirs": ",".join(self.log_dirs(broker_id))}
        return Broker(self._settings | properties, self._store)

    def log_dirs(self, broker_id: int) -> list[str]:
        return [str(self._directory / f"{broker_id}-{index}") for index in range(self._log_dirs)]

    # From the test's thread.

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(WAIT_S)

    def call(self, function: Callable[[], T]) -> T:
        async def run() -> T:
            return function()

        return self.run(run())

    def ask_store(self, ask: Callable[[Session], Answer[T]]) -> T:
        """As a tool that writes to the store itself."""

        async def run() -> T:
            future: asyncio.Future[Answer[T]] = asyncio.get_running_loop().create_future()
            ask(next(iter(self.brokers.values())).session).then(future.set_result)
            return (await future).value()

        return self.run(run())

    def start(self, broker_id: int) -> None:
        self.run(self._start(broker_id))

    def begin_start(self, broker_id: int) -> Future[None]:
        """It listens when this returns; the future is done when it serves."""

        async def run() -> None:
            await self.brokers[broker_id].start()

        self.brokers[broker_id] = self._broker(broker_id)
        starting = asyncio.run_coroutine_threadsafe(run(), self._loop)
        self.wait_until(lambda: bool(self.brokers[broker_id].addresses))
        return starting

    def stop(self, broker_id: int) -> None:
        self.run(self.brokers.pop(broker_id).stop())

    def expire(self, broker_id: int) -> None:
        """Its session with the store. In the cluster's thread."""
        self._store.expire(self.brokers[broker_id].session.session_id)

    def has_controller(self) -> bool:
        return self.call(lambda: sum(one.membership.loop.controller is not None for one in self.brokers.values()) == 1)

    @property
    def controller_id(self) -> int:
        (controller_id,) = (
            broker_id for broker_id, broker in self.brokers.items() if broker.membership.loop.controller is not None
        )
        return controller_id

    def peer(self, broker_id: int | None = None) -> AdminPeer:
        """Of the controller, unless told."""
        chosen = self.controller_id if broker_id is None else broker_id
        return AdminPeer(self.brokers[chosen].addresses[0])

    def create(self, name: str, *placement: tuple[int, ...], **configs: str) -> None:
        properties = {key.replace("_", "."): value for key, value in configs.items()}
        with self.peer() as peer:
            (result,) = peer.create(topic(name, assignments=dict(enumerate(placement)), configs=properties))
            assert result.error_code == 0, result.error_message
        self.wait_until(lambda: self.call(lambda: all(name in one.image.topics for one in self.brokers.values())))

    def produce(self, partition: TopicPartition, *values: bytes) -> None:
        """Each is a batch that all in sync have when this returns."""
        with AdminPeer(self.brokers[self.leader_of(partition)].addresses[0]) as peer:
            for answer in peer.produce(partition.topic, *(batch_of(value) for value in values), acks=-1):
                assert answer.error_code == 0

    def produce_when_possible(self, partition: TopicPartition, value: bytes) -> None:
        """As a client that asks again until somebody takes it."""

        def is_taken() -> bool:
            leader = self.leader_of(partition)
            if leader < 0:
                return False
            with AdminPeer(self.brokers[leader].addresses[0]) as peer:
                return peer.produce(partition.topic, batch_of(value), acks=-1)[0].error_code == 0

        self.wait_until(is_taken)

    def shown(self, partition: TopicPartition, broker_id: int | None = None) -> MetadataResponsePartition:
        """As a client is told."""
        with self.peer(broker_id) as peer:
            partitions = peer.metadata(partition.topic).topics[0].partitions
        (found,) = (each for each in partitions if each.partition_index == partition.partition)
        return found

    def leader_of(self, partition: TopicPartition) -> int:
        return self.shown(partition).leader_id

    def has_replica(self, broker_id: int, partition: TopicPartition) -> bool:
        return self.call(lambda: self.brokers[broker_id].partitions.find(partition) is not None)

    def log_end(self, broker_id: int, partition: TopicPartition) -> int:
        def look() -> int:
            found = self.brokers[broker_id].partitions.find(partition)
            return -1 if found is None else found.log.log_end_offset

        return self.call(look)

    @staticmethod
    def wait_until(holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not holds():
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.01)
