"""What Spark's tests need of a broker beside Spark: records put there, and looked at, with our own client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.fetching import Fetcher
from strandline.client.group_offsets import committed_offsets
from strandline.client.offsets import EARLIEST, LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from strandline.client.producer import Producer
from strandline.client.settings import ClientSettings
from strandline.client.topics import delete_topics, set_partition_counts
from strandline.client.trimming import delete_records
from strandline.model.partitions import TopicPartition
from strandline.records.record import Headers
from strandline.testing import Broker


class Sent(NamedTuple):
    """A record as a producer gives it."""

    partition: int
    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp_ms: int | None = None


class Found(NamedTuple):
    """A record as both sides can tell it."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class OurSide:
    def __init__(self, broker: Broker) -> None:
        self.bootstrap = broker.bootstrap

    def _call(self, work: Any, **settings: Any) -> Any:
        with Blocking(ClientSettings(bootstrap_servers=(self.bootstrap,), **settings)) as client:
            return client(work)

    def write(self, topic: str, records: Iterable[Sent]) -> None:
        async def work(cluster: Cluster) -> None:
            async with Producer(cluster) as producer:
                for each in records:
                    await producer.send(
                        topic,
                        each.value,
                        key=each.key,
                        headers=each.headers,
                        timestamp_ms=each.timestamp_ms,
                        partition=each.partition,
                    )
            assert producer.failure is None

        self._call(work)

    def read(self, topic: str, partitions: int = 1, *, is_committed: bool = False) -> list[Found]:
        """All there is, in order."""
        level = READ_COMMITTED if is_committed else READ_UNCOMMITTED
        wanted = [TopicPartition(topic, index) for index in range(partitions)]

        async def work(cluster: Cluster) -> list[Found]:
            starts, ends = [
                await list_offsets(cluster, dict.fromkeys(wanted, at), isolation_level=level)
                for at in (EARLIEST, LATEST)
            ]
            records = []
            with Fetcher(cluster, offsets_of(starts), offsets_of(ends)) as fetcher:
                while fetcher.positions:
                    for fetched in await fetcher.poll():
                        records += [
                            Found(each.partition.partition, each.offset, each.timestamp, *each[3:6])
                            for each in fetched.read()
                        ]
            return sorted(records)

        found: list[Found] = self._call(work, isolation_level="read_committed" if is_committed else "read_uncommitted")
        return found

    def committed(self, group_id: str) -> dict[int, int]:
        """Of the one topic that the group reads, by partition."""
        found = self._call(lambda cluster: committed_offsets(cluster, group_id))
        return {partition.partition: each.offset for partition, each in found.items()}

    def delete_before(self, topic: str, offset: int, partition: int = 0) -> None:
        self._call(lambda cluster: delete_records(cluster, {TopicPartition(topic, partition): offset}))

    def delete_topic(self, topic: str) -> None:
        self._call(lambda cluster: delete_topics(cluster, [topic]))

    def grow(self, topic: str, partitions: int) -> None:
        self._call(lambda cluster: set_partition_counts(cluster, {topic: partitions}))


def offsets_of(found: Mapping[TopicPartition, Any]) -> dict[TopicPartition, int]:
    return {partition: each.offset for partition, each in found.items()}


def numbered(numbers: Iterable[int], partition: int = 0) -> list[Sent]:
    return [Sent(partition, b"value %d" % number, b"key %d" % number) for number in numbers]
