"""Reading partitions: one fetch under way at each leader, the next one asked for while the caller reads the last.

    with Fetcher(cluster, positions) as fetcher:
        while fetcher.positions:
            for fetched in await fetcher.poll():
                for record in fetched.read(): ...

Positions move past everything a fetch brought, seen or not: markers and aborted records too. With `ends` given, a
partition leaves when it has been read up to its end. Compaction can leave an end that no record reaches: there, a
fetch that waited and brought nothing at all says that there is nothing more to come.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Self

from strandline.client.cluster import FETCHING, Cluster
from strandline.client.failures import BrokerRefused, ClientError, NoSuchOffset, may_pass
from strandline.client.fetched import Aborted, FetchedPartition
from strandline.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from strandline.client.patience import Patience
from strandline.client.view import NO_LEADER
from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.fetch_request import TOPIC_IDS_FROM
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from strandline.wire.primitives import NO_UUID

Positions = dict[TopicPartition, int]


class Fetcher:
    def __init__(
        self,
        cluster: Cluster,
        positions: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.positions: Positions = {}
        self.is_read_committed = self.settings.isolation_level == "read_committed"
        self._ends = dict(ends or {})
        self._under_way: dict[int, asyncio.Task[list[FetchedPartition]]] = {}
        self._patience: Patience | None = None  # while something goes wrong
        self._error: ClientError | None = None  # of the last fetch, to be borne before the next
        self._next_look_s = 0.0  # for leaders of partitions that have none
        self.assign(positions)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these from now on, and nothing else. What is under way is dropped."""
        self.stop()
        self.positions = {
            partition: offset
            for partition, offset in positions.items()
            if partition not in self._ends or offset < self._ends[partition]
        }

    def stop(self) -> None:
        for task in self._under_way.values():
            if task.done() and not task.cancelled():
                task.exception()  # nobody will ask for it any more
            task.cancel()
        self._under_way.clear()

    async def poll(self, timeout_ms: int | None = None) -> list[FetchedPartition]:
        """What came first; nothing if nothing comes in time.

        May be cancelled: positions move only together with what is given out.
        """
        if self._error is not None:
            error, self._error = self._error, None
            await self._bear(error)
        await self._ask()
        if not self._under_way:
            return []
        timeout_s = None if timeout_ms is None else timeout_ms / 1000
        done, _ = await asyncio.wait(self._under_way.values(), timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        fetched = []
        for node_id in [node_id for node_id, task in self._under_way.items() if task in done]:
            try:
                fetched += self._under_way.pop(node_id).result()
                self._patience = None
            except ClientError as error:
                self._error = error
        kept = self._move_on(fetched)
        if self._error is None:
            self._start_fetches()
        return kept

    async def _ask(self) -> None:
        """Where no fetch is under way and something is wanted."""
        await self.cluster.topics({partition.topic for partition in self.positions})
        leaderless = self._start_fetches()
        if leaderless:
            await self._look_for_leaders(leaderless)

    def _start_fetches(self) -> list[TopicPartition]:
        """By the view as it is; gives the partitions that have no leader in it."""
        wanted: defaultdict[int, list[TopicPartition]] = defaultdict(list)
        for partition in self.positions:
            view = self.cluster.view.topics[partition.topic].partitions.get(partition.partition)
            wanted[NO_LEADER if view is None else view.leader_id].append(partition)
        leaderless = wanted.pop(NO_LEADER, [])
        for node_id, partitions in wanted.items():
            if node_id not in self._under_way:
                request = self._request(partitions)
                self._under_way[node_id] = asyncio.create_task(self._fetch(node_id, request, dict(self.positions)))
        return leaderless

    async def _look_for_leaders(self, partitions: list[TopicPartition]) -> None:
        """Now and then; if there is nothing else to read, that is all there is to do."""
        if not self._under_way:
            error = BrokerRefused(ErrorCode.LEADER_NOT_AVAILABLE, str(partitions[0]))
            await self._bear(error, partitions[0].topic)
            return
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._next_look_s:
            self._next_look_s = now_s + self.settings.retry_backoff_max_ms / 1000
            for partition in partitions:
                self.cluster.distrust(partition.topic)

    def _request(self, partitions: list[TopicPartition]) -> FetchRequest:
        by_topic: defaultdict[str, list[FetchPartition]] = defaultdict(list)
        for partition in partitions:
            view = self.cluster.view.topics[partition.topic].partitions[partition.partition]
            by_topic[partition.topic].append(
                FetchPartition(
                    partition.partition,
                    view.leader_epoch,
                    self.positions[partition],
                    partition_max_bytes=self.settings.max_partition_fetch_bytes,
                )
            )
        topics = [FetchTopic(name, self.cluster.view.topics[name].topic_id, each) for name, each in by_topic.items()]
        return FetchRequest(
            max_wait_ms=self.settings.fetch_max_wait_ms,
            min_bytes=self.settings.fetch_min_bytes,
            max_bytes=self.settings.fetch_max_bytes,
            isolation_level=READ_COMMITTED if self.is_read_committed else READ_UNCOMMITTED,
            topics=topics,
        )

    async def _fetch(self, node_id: int, request: FetchRequest, positions: Positions) -> list[FetchedPartition]:
        has_ids = all(topic.topic_id != NO_UUID for topic in request.topics)
        names = {topic.topic_id: topic.topic for topic in request.topics}
        connection = await self.cluster.broker(node_id, FETCHING)
        response = await connection.ask(
            request,
            FetchResponse,
            version_max=None if has_ids else TOPIC_IDS_FROM - 1,
            timeout_ms=self.settings.fetch_max_wait_ms + self.settings.request_timeout_ms,
        )
        if response.error_code:
            raise BrokerRefused(response.error_code, f"fetching from broker {node_id}")
        fetched = []
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                partition = TopicPartition(name, data.partition_index)
                if data.error_code:
                    await self._refused(partition, positions, data)
                elif partition in positions:
                    fetched.append(self._fetched(partition, positions[partition], data))
        return fetched

    def _fetched(self, partition: TopicPartition, fetch_offset: int, data: PartitionData) -> FetchedPartition:
        records = data.records if isinstance(data.records, memoryview) else memoryview(b"")
        aborted = [Aborted(each.first_offset, each.producer_id) for each in data.aborted_transactions or []]
        return FetchedPartition(
            partition,
            fetch_offset,
            records,
            data.high_watermark,
            data.last_stable_offset,
            data.log_start_offset,
            aborted if self.is_read_committed else None,
            self._ends.get(partition),
        )

    async def _refused(self, partition: TopicPartition, positions: Positions, data: PartitionData) -> None:
        if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._reset(partition, positions.get(partition, 0))
            return
        error = BrokerRefused(data.error_code, f"fetching {partition}")
        if not error.is_retriable:
            raise error
        await self._bear(error, partition.topic)

    async def _reset(self, partition: TopicPartition, offset: int) -> None:
        """`auto.offset.reset`: the log was cut before, or behind, where we read."""
        policy = self.settings.auto_offset_reset
        if policy == "none":
            raise await self._out_of_range(partition, offset)
        found = await list_offsets(self.cluster, {partition: EARLIEST if policy == "earliest" else LATEST})
        if partition in self.positions:
            self.positions[partition] = found[partition].offset

    async def _out_of_range(self, partition: TopicPartition, offset: int) -> ClientError:
        start, end = [
            (await list_offsets(self.cluster, {partition: at}))[partition].offset for at in (EARLIEST, LATEST)
        ]
        return NoSuchOffset(partition, offset, start, end)

    def _move_on(self, fetched: list[FetchedPartition]) -> list[FetchedPartition]:
        brought_nothing = not any(each.size_bytes for each in fetched)
        kept = []
        for each in fetched:
            if self.positions.get(each.partition) != each.fetch_offset:
                continue  # assigned anew in the meantime
            next_offset = each.next_offset()
            self.positions[each.partition] = next_offset
            end = self._ends.get(each.partition)
            if end is not None and (next_offset >= end or (brought_nothing and each.high_watermark >= end)):
                del self.positions[each.partition]
            if each.size_bytes:
                kept.append(each)
        return kept

    async def _bear(self, error: ClientError, topic: str | None = None) -> None:
        """Waits a little and looks at the cluster anew, if that can help."""
        if self._patience is None:
            self._patience = Patience(self.settings)
        if topic is not None:
            self.cluster.distrust(topic)
        elif may_pass(error):
            for partition in self.positions:
                self.cluster.distrust(partition.topic)
        await self._patience.pause(error)
