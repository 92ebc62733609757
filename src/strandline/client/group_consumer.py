"""Reading as a member of a group: from where the group was, with commits as we go.

    async with GroupConsumer(cluster, "audit", ["orders"]) as consumer:
        while True:
            for fetched in await consumer.poll():
                for record in fetched.read(): ...

What `poll` gave is taken for processed when it is called again, and committed then, every `auto.commit.interval.ms`,
before partitions are given up, and at the end: each record is processed at least once. A caller that stops in the
middle of what it was given says so (`processed`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Self

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused, ClientError
from strandline.client.fetched import FetchedPartition
from strandline.client.fetching import Fetcher
from strandline.client.group_member import REJOIN, GroupMember
from strandline.client.group_offsets import Committed, commit_offsets, committed_offsets
from strandline.client.offsets import EARLIEST, LATEST, offsets_at
from strandline.model.partitions import TopicPartition

CLOSE_WHEN_INTERRUPTED_S = 5


class GroupConsumer:
    def __init__(self, cluster: Cluster, group_id: str, topics: Collection[str]) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self.group_id = group_id
        self.member = GroupMember(cluster, group_id, topics)
        self._fetcher = Fetcher(cluster, {})
        self._committed: dict[TopicPartition, int] = {}
        self._given: dict[TopicPartition, int] = {}  # by the last poll: from where to go on when it is processed
        self._processed: dict[TopicPartition, int] = {}
        self._next_commit_s = 0.0
        self._loop = asyncio.get_running_loop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._given = {}  # it may not have been processed
        if kind is asyncio.CancelledError:
            await self._close_soon()
        else:
            await self.close()

    async def _close_soon(self) -> None:
        """Somebody waits for the end of this; a broker that does not answer shall not keep them."""
        try:
            await asyncio.wait_for(self.close(), CLOSE_WHEN_INTERRUPTED_S)
        except TimeoutError:
            raise ClientError(
                f"what was read last could not be committed within {CLOSE_WHEN_INTERRUPTED_S} seconds: "
                f"group {self.group_id} will be given it again"
            ) from None

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """Of our share: the next offset that a poll will give."""
        return dict(self._fetcher.positions)

    async def poll(self, timeout_ms: int | None = None) -> list[FetchedPartition]:
        """What came first. Returns with nothing at the latest after `timeout_ms`, and when the group has changed."""
        self._take_given()
        if self.member.must_join:
            await self._join()
        elif self._loop.time() >= self._next_commit_s:
            await self.commit()
        fetching = asyncio.ensure_future(self._fetch(timeout_ms))
        changing = asyncio.ensure_future(self.member.change())
        try:
            done, _ = await asyncio.wait({fetching, changing}, return_when=asyncio.FIRST_COMPLETED)
            if fetching in done:
                fetched = fetching.result()
                self._given = {each.partition: each.next_offset() for each in fetched}
                return fetched
            changing.result()
            return []
        finally:
            await _end(fetching)
            await _end(changing)

    def processed(self, partition: TopicPartition, next_offset: int) -> None:
        """Of what the last poll gave, this partition was processed up to here and no further."""
        self._given[partition] = next_offset

    async def commit(self) -> None:
        """What was processed, as far as it is not committed yet."""
        self._next_commit_s = self._loop.time() + self.settings.auto_commit_interval_ms / 1000
        new = {partition: at for partition, at in self._processed.items() if self._committed.get(partition) != at}
        try:
            await commit_offsets(self.cluster, self.group_id, new, self.member.membership)
        except BrokerRefused as error:
            if error.error_code not in REJOIN:
                raise
            self.member.expelled(error.error_code)
            return
        self._committed.update(new)

    async def close(self) -> None:
        """Commits what was given out, and leaves."""
        self._fetcher.stop()
        self._take_given()
        try:
            if not self.member.must_join:
                await self.commit()
        finally:
            with suppress(ClientError):
                await self.member.leave()

    def _take_given(self) -> None:
        self._processed.update(self._given)
        self._given = {}

    async def _fetch(self, timeout_ms: int | None) -> list[FetchedPartition]:
        if not self._fetcher.positions:  # more members than partitions
            await asyncio.sleep(self.settings.fetch_max_wait_ms / 1000 if timeout_ms is None else timeout_ms / 1000)
            return []
        return await self._fetcher.poll(timeout_ms)

    async def _join(self) -> None:
        await self.commit()
        self._fetcher.stop()
        share = await self.member.join()
        committed = await committed_offsets(self.cluster, self.group_id, share) if share else {}
        positions = await self._positions(share, committed)
        self._committed = {partition: each.offset for partition, each in committed.items()}
        self._processed = dict(positions)  # where the group was nowhere, that it begins here will be committed
        self._fetcher.assign(positions)

    async def _positions(
        self, share: list[TopicPartition], committed: dict[TopicPartition, Committed]
    ) -> dict[TopicPartition, int]:
        """Where the group was; where it never was, as `auto.offset.reset` says."""
        fresh = [partition for partition in share if partition not in committed]
        if fresh and self.settings.auto_offset_reset == "none":
            raise ClientError(
                f"group {self.group_id} has no committed offset in {fresh[0]}: set one with `strandline group seek`"
            )
        at = EARLIEST if self.settings.auto_offset_reset == "earliest" else LATEST
        begins = await offsets_at(self.cluster, fresh, at) if fresh else {}
        return {**begins, **{partition: each.offset for partition, each in committed.items()}}


async def _end(task: asyncio.Future[object] | asyncio.Future[list[FetchedPartition]] | asyncio.Future[None]) -> None:
    if not task.done():
        task.cancel()
        with suppress(asyncio.CancelledError, ClientError):
            await task
