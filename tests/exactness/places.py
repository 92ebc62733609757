"""Where records went, read by others than those who wrote: librdkafka, Arrow, delta-rs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
from confluent_kafka import Consumer, KafkaError, TopicPartition
from deltalake import DeltaTable

from strandline.client.blocking import Blocking
from strandline.client.offsets import LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition as Partition

WAIT_S = 120.0
AT_ONCE = 5_000


def keys_in(bootstrap: str, topic: str, partitions: int) -> Iterator[int]:
    """The numbers of all committed records, by their keys."""
    for key, _ in _records(bootstrap, topic, partitions):
        yield int(key or b"-1")


def numbers_in(bootstrap: str, topic: str, partitions: int) -> Iterator[int]:
    """By what their values say; they are JSON."""
    for _, value in _records(bootstrap, topic, partitions):
        yield json.loads(value or b"{}").get("number", -1)


def _records(bootstrap: str, topic: str, partitions: int) -> Iterator[tuple[bytes | None, bytes | None]]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "account",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    left, deadline = set(range(partitions)), time.monotonic() + WAIT_S
    try:
        while left:
            assert time.monotonic() < deadline, f"{topic} was not read to its end in {WAIT_S:g} s"
            for message in consumer.consume(AT_ONCE, 0.5):
                error, index = message.error(), message.partition()
                if error is None:
                    deadline = time.monotonic() + WAIT_S
                    yield _bytes(message.key()), _bytes(message.value())
                elif error.code() == KafkaError._PARTITION_EOF and index is not None:
                    left.discard(index)
    finally:
        consumer.close()


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content


def held_up(bootstrap: str, topics: dict[str, int]) -> list[Partition]:
    """Partitions in which a transaction is still open after a while: readers would stand before it."""
    wanted = dict.fromkeys((Partition(name, index) for name, count in topics.items() for index in range(count)), LATEST)
    deadline = time.monotonic() + WAIT_S
    with Blocking(ClientSettings(bootstrap_servers=tuple(bootstrap.split(",")))) as client:
        while True:
            stable, all_of_it = [
                client(lambda cluster, level=level: list_offsets(cluster, wanted, isolation_level=level))  # type: ignore[misc]
                for level in (READ_COMMITTED, READ_UNCOMMITTED)
            ]
            waiting = [each for each in wanted if stable[each].offset < all_of_it[each].offset]
            if not waiting or time.monotonic() > deadline:
                return waiting
            time.sleep(0.2)


def numbers_in_parquet(path: Path) -> Iterator[int]:
    for batch in pyarrow.dataset.dataset(str(path), format="parquet").to_batches(columns=["number"]):
        yield from batch.column(0).to_pylist()


def numbers_in_delta(path: Path) -> Iterator[int]:
    for batch in DeltaTable(str(path)).to_pyarrow_dataset().to_batches(columns=["number"]):
        yield from batch.column(0).to_pylist()
