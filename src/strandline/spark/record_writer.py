"""One task's rows into a topic, through an idempotent producer: none lost, none twice while the task lives.

A task that Spark runs again writes again, which is why this alone is at-least-once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa

from strandline.client.cluster import Cluster
from strandline.client.producer import Producer
from strandline.spark.failures import WriteFailed, in_one_sentence
from strandline.spark.sink_columns import records_of
from strandline.spark.sink_options import SinkOptions
from strandline.spark.worker_clients import borrow_client


def write_rows(options: SinkOptions, rows: Iterator[pa.RecordBatch]) -> int:
    """Returns how many records there were, when all of them are delivered."""
    with in_one_sentence(WriteFailed), borrow_client(options.properties) as client:
        producer = client(_make_producer)
        for batch in rows:
            client(partial(send_rows, producer, batch, options.topic))
        client(lambda _: producer.close())
        check_delivered(producer)
        return producer.record_count


async def _make_producer(cluster: Cluster) -> Producer:
    return Producer(cluster)


async def send_rows(producer: Producer, rows: pa.RecordBatch, topic: str | None, _: Cluster) -> None:
    for record in records_of(rows, topic):
        await producer.send(
            record.topic, record.value, key=record.key, headers=record.headers, partition=record.partition
        )
    check_delivered(producer)


def check_delivered(producer: Producer) -> None:
    if producer.failure is not None:
        raise producer.failure
