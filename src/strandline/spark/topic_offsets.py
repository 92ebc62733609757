"""What the driver asks the cluster: which partitions there are, and where they begin and end.

The connection stays open for the life of a query. Every question has a deadline (`default.api.timeout.ms`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError, NoTopic
from strandline.client.group_offsets import commit_offsets
from strandline.client.offsets import EARLIEST, LATEST, NONE_FOUND, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from strandline.client.patience import Patience
from strandline.client.settings import ClientSettings
from strandline.client.view import TopicView
from strandline.model.partitions import TopicPartition
from strandline.spark.failures import BadOption, ReadFailed
from strandline.spark.offset_limits import AllAt, AllAtTime, EachAt, EachAtTime, OffsetLimit
from strandline.spark.offsets_json import PartitionOffsets
from strandline.spark.source_options import SourceOptions

T = TypeVar("T")


class TopicOffsets:
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._client: Blocking | None = None
        self._isolation_level = READ_COMMITTED if options.isolation == "read_committed" else READ_UNCOMMITTED
        self._partitions: list[TopicPartition] = []
        self._asked_at_s = float("-inf")
        self._seen_topics: set[str] = set()

    def close(self) -> None:
        if self._client is not None:
            self._client.__exit__()
            self._client = None

    # Partitions

    def partitions(self) -> list[TopicPartition]:
        """All that the query reads now, in order; a topic that was never there is an error, one that went is not."""
        age_ms = (time.monotonic() - self._asked_at_s) * 1000
        if not self._partitions or age_ms >= self._options.metadata_age_max_ms:
            self._partitions = sorted(self._ask_partitions())
            self._asked_at_s = time.monotonic()
        return self._partitions

    def existing_topics(self, names: Collection[str]) -> set[str]:
        return {name for name in names if self._topic(name) is not None}

    def _ask_partitions(self) -> list[TopicPartition]:
        subscription = self._options.subscription
        if subscription.pattern:
            return self._matching(subscription.pattern)
        if subscription.partitions:
            return self._assigned(subscription.partitions)
        found: list[TopicPartition] = []
        for name in subscription.topics:
            view = self._topic(name)
            if view is not None:
                self._seen_topics.add(name)
                found += [TopicPartition(name, index) for index in view.partitions]
            elif name not in self._seen_topics:
                raise NoTopic(name)
        return found

    def _matching(self, pattern: str) -> list[TopicPartition]:
        async def ask(cluster: Cluster) -> dict[str, TopicView]:
            patience = Patience(cluster.settings)
            while True:
                try:
                    return (await cluster.refresh(None)).topics
                except ClientError as error:
                    await patience.pause(error)

        wanted = re.compile(pattern)
        return [
            TopicPartition(name, index)
            for name, view in self._call(ask).items()
            if wanted.search(name) and not view.is_internal and not view.error_code
            for index in view.partitions
        ]

    def _assigned(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        views = {name: self._topic(name) for name in {partition.topic for partition in partitions}}
        found = []
        for partition in partitions:
            view = views[partition.topic]
            if view is None and partition.topic not in self._seen_topics:
                raise NoTopic(partition.topic)
            if view is None:
                continue
            self._seen_topics.add(partition.topic)
            if partition.partition not in view.partitions:
                last = len(view.partitions) - 1
                raise BadOption(f"topic {partition.topic} has no partition {partition.partition}: it has 0 to {last}")
            found.append(partition)
        return found

    def _topic(self, name: str) -> TopicView | None:
        """None where there is none; one that was there before is asked for again a few times."""

        async def ask(cluster: Cluster) -> TopicView | None:
            try:
                return (await cluster.topics([name], fresh=True))[name]
            except NoTopic:
                return None

        view = self._call(ask)
        for _ in range(self._options.offset_retries if name in self._seen_topics else 0):
            if view is not None:
                break
            time.sleep(self._options.offset_retry_interval_ms / 1000)
            view = self._call(ask)
        return view

    def remember_topics(self, names: Collection[str]) -> None:
        """Of a checkpoint: they were there once."""
        self._seen_topics.update(names)

    # Offsets

    def earliest(self, partitions: Collection[TopicPartition]) -> PartitionOffsets:
        return self._list(dict.fromkeys(partitions, EARLIEST))

    def latest(self, known: Mapping[TopicPartition, int] | None = None) -> PartitionOffsets:
        """Where the partitions end. An end below what is known is asked for again a few times (KAFKA-7703)."""
        partitions = self.partitions()
        for _ in range(self._options.offset_retries):
            found = self._list(dict.fromkeys(partitions, LATEST))
            if all((known or {}).get(partition, 0) <= offset for partition, offset in found.items()):
                return found
            time.sleep(self._options.offset_retry_interval_ms / 1000)
        return self._list(dict.fromkeys(partitions, LATEST))

    def resolve(self, limit: OffsetLimit, *, is_start: bool) -> PartitionOffsets:
        """The offsets that a user's words stand for now."""
        partitions = self.partitions()
        match limit:
            case AllAt(offset):
                return self._list(dict.fromkeys(partitions, offset))
            case EachAt(offsets):
                self._check_named(offsets, partitions, "start" if is_start else "end")
                open_ones = {each: offset for each, offset in offsets.items() if offset in (EARLIEST, LATEST)}
                return offsets | self._list(open_ones)
            case AllAtTime(timestamp_ms, or_latest):
                return self._at_times(dict.fromkeys(partitions, timestamp_ms), or_latest)
            case EachAtTime(timestamps_ms, or_latest):
                what = f"timestamp based {'starting' if is_start else 'ending'}"
                self._check_named(timestamps_ms, partitions, what)
                return self._at_times(timestamps_ms, or_latest)

    def _check_named(self, named: PartitionOffsets, partitions: list[TopicPartition], what: str) -> None:
        if named.keys() != set(partitions):
            raise BadOption(
                f"Partitions specified for Kafka {what} offsets don't match what are assigned: name all of them, with"
                f" -1 for latest, -2 for earliest. Specified: {', '.join(map(str, sorted(named)))}"
                f" Assigned: {', '.join(map(str, partitions))}"
            )

    def _at_times(self, timestamps_ms: PartitionOffsets, or_latest: bool) -> PartitionOffsets:
        found = self._list(timestamps_ms)
        young = [partition for partition, offset in found.items() if offset == NONE_FOUND]
        if young and not or_latest:
            raise ReadFailed(
                f"No offset matched from request of topic-partition {young[0]} and timestamp {timestamps_ms[young[0]]}."
                " Set startingOffsetsByTimestampStrategy to latest to begin with what comes next."
            )
        return found | self._list(dict.fromkeys(young, LATEST))

    def _list(self, wanted: PartitionOffsets) -> PartitionOffsets:
        if not wanted:
            return {}
        found = self._call(lambda cluster: list_offsets(cluster, wanted, isolation_level=self._isolation_level))
        return {partition: each.offset for partition, each in found.items()}

    # Progress

    def commit(self, group_id: str, offsets: PartitionOffsets) -> None:
        self._call(lambda cluster: commit_offsets(cluster, group_id, offsets))

    def _call(self, work: Callable[[Cluster], Awaitable[T]]) -> T:
        if self._client is None:
            self._client = Blocking(ClientSettings.of(self._options.properties))
        return self._client(work)
