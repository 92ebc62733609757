"""A producer: records in, batches out, with retries that neither lose nor reorder (and, idempotent, not repeat).

    async with Producer(cluster) as producer:
        delivery = await producer.send("orders", b"value", key=b"k")
        place = await delivery.place()

`send` returns as soon as the record is in a batch; it waits only where `buffer.memory` is used up, or its partition
cannot follow. A batch leaves when it is full, has waited for `linger.ms`, or somebody waits for all of them (`flush`).
It is sent again after errors that may pass, until `delivery.timeout.ms` is over. An idempotent producer that had to
give up a batch takes a new identity, for the sequence of its old one has a hole now.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from contextlib import suppress
from typing import Self

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused, ClientError, may_pass
from strandline.client.outgoing import Delivery, OutgoingBatch, PartitionQueue, ProducerIdentity, record_bytes_max
from strandline.client.partitioner import StickyChoice, partition_of_key
from strandline.client.produce_requests import ProduceOutcome, deliver
from strandline.client.view import NO_LEADER, TopicView
from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.records.compression import codec_named
from strandline.records.record import Headers
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from strandline.wire.versions import ApiKey

ALL_IN_SYNC = -1
# More than these behind the one under way only make records wait longer.
WAITING_BATCHES_MAX = 4
# Sent before, and the answer was lost: it is there.
ALREADY_THERE = ErrorCode.DUPLICATE_SEQUENCE_NUMBER


class Producer:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.failure: ClientError | None = None  # the first record that could not be delivered
        self.record_count = 0
        self.delivered_count = 0
        self._codec = codec_named(self.settings.compression_type)
        self._wants_identity = self.settings.enable_idempotence and self.settings.required_acks == ALL_IN_SYNC
        self._identity = ProducerIdentity()
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        self._sticky: defaultdict[str, StickyChoice] = defaultdict(lambda: StickyChoice(self.settings.batch_size))
        self._buffered_bytes = 0
        self._flushing = 0
        self._work = asyncio.Event()  # something may be sent now
        self._progress = asyncio.Event()  # something was delivered, or failed
        self._requests: set[asyncio.Task[None]] = set()
        self._bug: BaseException | None = None
        self._sender: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Headers = (),
        timestamp_ms: int | None = None,
        partition: int | None = None,
    ) -> Delivery:
        size_bytes = record_bytes_max(key, value, headers)
        if size_bytes > self.settings.max_request_size:
            raise ClientError(
                f"a record of {size_bytes} bytes is larger than max.request.size={self.settings.max_request_size}:"
                " raise it with -X max.request.size=N, and max.message.bytes of the topic with it"
            )
        view = self.cluster.known_topic(topic) or await self._topic(topic)
        queue = self._queue(TopicPartition(topic, self._choose(view, key, partition, size_bytes)))
        while self._buffered_bytes > self.settings.buffer_memory or len(queue.waiting) > WAITING_BATCHES_MAX:
            await self._wait_for_progress()
        if timestamp_ms is None:
            timestamp_ms = time.time_ns() // 1_000_000
        batch = queue.batch_for(size_bytes, self.settings.batch_size, self._loop.time(), timestamp_ms)
        before = batch.size_bytes if batch.record_count else 0
        number = batch.append(timestamp_ms, key, value, headers)
        self._buffered_bytes += batch.size_bytes - before
        self.record_count += 1
        if number == 0:
            await self._begin()
        return Delivery(batch, number)

    async def flush(self) -> None:
        """Until everything is delivered or has failed."""
        self._flushing += 1
        self._work.set()
        try:
            while any(not queue.is_idle for queue in self._queues.values()):
                await self._wait_for_progress()
        finally:
            self._flushing -= 1

    async def close(self) -> None:
        await self.flush()
        if self._sender is not None:
            self._sender.cancel()
            with suppress(asyncio.CancelledError):
                await self._sender

    # Filling batches

    async def _topic(self, name: str) -> TopicView:
        return (await self.cluster.topics([name]))[name]

    def _choose(self, topic: TopicView, key: bytes | None, partition: int | None, size_bytes: int) -> int:
        count = len(topic.partitions)
        if partition is not None:
            if partition not in topic.partitions:
                raise ClientError(f"topic {topic.name} has no partition {partition}: it has 0 to {count - 1}")
            return partition
        if key is not None:
            return partition_of_key(key, count)
        return self._sticky[topic.name].choose(count, size_bytes)

    def _queue(self, partition: TopicPartition) -> PartitionQueue:
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = PartitionQueue(partition)
        return queue

    async def _begin(self) -> None:
        """A batch has its first record. The one before it may be full, so let the sender have a turn."""
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_for_ever())
            self._sender.add_done_callback(self._task_ended)
        self._loop.call_later(self.settings.linger_ms / 1000, self._work.set)
        self._work.set()
        await asyncio.sleep(0)

    async def _wait_for_progress(self) -> None:
        self._progress.clear()
        self._work.set()
        if self._bug is None:
            await self._progress.wait()
        if self._bug is not None:
            raise self._bug

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        """What is no ClientError is a bug of ours, and nobody shall wait for ever because of it."""
        if not task.cancelled() and task.exception() is not None:
            self._bug = task.exception()
            self._progress.set()

    # Sending them

    async def _send_for_ever(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            try:
                await self._send_what_is_due()
            except ClientError as error:
                self._fail_waiting(error)

    async def _send_what_is_due(self) -> None:
        due = [queue for queue in self._queues.values() if self._is_due(queue)]
        if not due:
            return
        if self._wants_identity and not self._identity.is_idempotent:
            self._identity = await self._ask_identity()
        await self._prepare([queue.partition for queue in due])
        by_leader: defaultdict[int, list[PartitionQueue]] = defaultdict(list)
        for queue in due:
            try:
                by_leader[await self._leader_of(queue.partition)].append(queue)
            except ClientError as error:
                queue.take(self._codec, self._identity)
                self._settle(queue, error)
        for leader_id, queues in by_leader.items():
            self._send_to(leader_id, queues)

    async def _prepare(self, partitions: list[TopicPartition]) -> None:
        """What has to be done before anything is sent to them."""

    async def _leader_of(self, partition: TopicPartition) -> int:
        view = (await self._topic(partition.topic)).partitions.get(partition.partition)
        if view is None or view.leader_id == NO_LEADER:
            raise BrokerRefused(ErrorCode.LEADER_NOT_AVAILABLE, str(partition))
        return view.leader_id

    def _is_due(self, queue: PartitionQueue) -> bool:
        if not queue.waiting or queue.under_way is not None:
            return False
        first, now_s = queue.waiting[0], self._loop.time()
        if now_s < queue.not_before_s:
            return False
        return (
            first.is_full
            or first.sealed is not None
            or len(queue.waiting) > 1
            or self._flushing > 0
            or now_s - first.created_s >= self.settings.linger_ms / 1000
            or first.size_bytes >= self.settings.batch_size
            or self._buffered_bytes > self.settings.buffer_memory
        )

    def _send_to(self, leader_id: int, queues: list[PartitionQueue]) -> None:
        """In as few requests as `max.request.size` allows."""
        request: list[PartitionQueue] = []
        size_bytes = 0
        for queue in queues:
            batch = queue.take(self._codec, self._identity)
            assert batch.sealed is not None
            if request and size_bytes + len(batch.sealed) > self.settings.max_request_size:
                self._start(leader_id, request)
                request, size_bytes = [], 0
            request.append(queue)
            size_bytes += len(batch.sealed)
        self._start(leader_id, request)

    def _start(self, leader_id: int, queues: list[PartitionQueue]) -> None:
        task = asyncio.create_task(self._deliver(leader_id, queues))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        task.add_done_callback(self._task_ended)

    async def _deliver(self, leader_id: int, queues: list[PartitionQueue]) -> None:
        batches = [queue.under_way for queue in queues if queue.under_way is not None]
        outcomes = await deliver(self.cluster, leader_id, batches)
        for queue in queues:
            self._settle(queue, outcomes[queue.partition])

    def _settle(self, queue: PartitionQueue, outcome: ProduceOutcome) -> None:
        batch = queue.under_way
        assert batch is not None
        if isinstance(outcome, BrokerRefused) and outcome.error_code == ALREADY_THERE:
            outcome = -1
        if isinstance(outcome, int):
            batch.delivered(outcome)
            self.delivered_count += batch.record_count
            self._dismiss(queue, batch)
        elif may_pass(outcome) and not self._is_overdue(batch):
            self.cluster.distrust(queue.partition.topic)
            self._try_again(queue, batch)
        else:
            self._give_up(queue, batch, outcome)

    def _try_again(self, queue: PartitionQueue, batch: OutgoingBatch) -> None:
        pause_ms = self.settings.retry_backoff_ms * 2**batch.attempts
        pause_s = min(pause_ms, self.settings.retry_backoff_max_ms) / 1000
        batch.attempts += 1
        queue.put_back(self._loop.time() + pause_s)
        self._loop.call_later(pause_s, self._work.set)

    def _is_overdue(self, batch: OutgoingBatch) -> bool:
        return self._loop.time() - batch.created_s >= self.settings.delivery_timeout_ms / 1000

    def _give_up(self, queue: PartitionQueue, batch: OutgoingBatch, error: ClientError) -> None:
        self.failure = self.failure or error
        batch.failed(error)
        self._identity = ProducerIdentity()
        self._dismiss(queue, batch)

    def _dismiss(self, queue: PartitionQueue, batch: OutgoingBatch) -> None:
        queue.under_way = None
        self._buffered_bytes -= batch.size_bytes
        self._work.set()
        self._progress.set()

    def _fail_waiting(self, error: ClientError) -> None:
        """Nothing that is due can be sent."""
        for queue in [each for each in self._queues.values() if self._is_due(each)]:
            self._give_up(queue, queue.waiting.popleft(), error)

    async def _ask_identity(self) -> ProducerIdentity:
        connection = await self.cluster.any_broker()
        if not connection.versions.serves(ApiKey.INIT_PRODUCER_ID):
            self._wants_identity = False
            return ProducerIdentity()
        response = await self.cluster.ask_any(
            InitProducerIdRequest(transaction_timeout_ms=-1), InitProducerIdResponse, lambda answer: [answer.error_code]
        )
        if response.error_code:
            raise BrokerRefused(response.error_code, "an identity for the idempotent producer")
        return ProducerIdentity(response.producer_id, response.producer_epoch)
