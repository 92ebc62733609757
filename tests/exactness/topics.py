"""What a topic holds for whoever reads what is committed, read to the end by librdkafka."""

from __future__ import annotations

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from strandline.client.blocking import Blocking
from strandline.client.offsets import LATEST, READ_COMMITTED, READ_UNCOMMITTED, list_offsets
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition as Partition

WAIT_S = 120.0
AT_ONCE = 5_000
READER = {
    "group.id": "account",
    "isolation.level": "read_committed",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
    "log_level": 0,
}


def messages_in(bootstrap: str, topic: str, partitions: int) -> Iterator[Message]:
    consumer = Consumer({**READER, "bootstrap.servers": bootstrap})
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    left, deadline = set(range(partitions)), time.monotonic() + WAIT_S
    try:
        while left:
            assert time.monotonic() < deadline, f"{topic} was not read to its end in {WAIT_S:g} s"
            for message in consumer.consume(AT_ONCE, 0.5):
                error, index = message.error(), message.partition()
                if error is None:
                    deadline = time.monotonic() + WAIT_S
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF and index is not None:
                    left.discard(index)
    finally:
        consumer.close()


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
