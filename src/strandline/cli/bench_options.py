"""What the benchmarks share: how many records of which size, to which topic."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeVar

import click

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused
from strandline.client.topics import NewTopic, create_topics
from strandline.model.error_codes import ErrorCode

F = TypeVar("F", bound=Callable[..., Any])

POOL_BYTES = 2**20

json_or_text_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json prints one object at the end.",
)
partitions_option = click.option(
    "-p", "--partitions", type=click.IntRange(1), help="Create the topic with so many partitions if it is not there."
)


def size_options(record_count: int) -> Callable[[F], F]:
    def add(command: F) -> F:
        command = click.option(
            "-s",
            "--record-size",
            "record_bytes",
            type=click.IntRange(1),
            default=100,
            show_default=True,
            help="Bytes of each.",
        )(command)
        return click.option(
            "-n",
            "--num-records",
            "record_count",
            type=click.IntRange(1),
            default=record_count,
            show_default=True,
            help="How many records.",
        )(command)

    return add


class Payloads:
    """Values of capital letters, as Kafka's tool makes them, cut from one pool: to make them costs next to nothing."""

    def __init__(self, record_bytes: int) -> None:
        self._size = record_bytes
        letters = bytes(65 + byte % 26 for byte in range(256))
        self._pool = random.randbytes(POOL_BYTES + record_bytes).translate(letters)

    def make(self, number: int) -> bytes:
        start = number * 7919 % POOL_BYTES
        return self._pool[start : start + self._size]


async def prepare_topic(cluster: Cluster, topic: str, partitions: int | None) -> None:
    if partitions is None:
        return
    (created,) = await create_topics(cluster, [NewTopic(topic, partitions)])
    refusal: BrokerRefused | None = created.refusal
    if refusal is not None and refusal.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
        raise refusal
