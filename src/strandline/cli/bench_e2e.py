"""`strandline bench e2e`: what `kafka-e2e-latency` measures: from the producer through the broker to the consumer."""

from __future__ import annotations

import time
from typing import Any

import click

from strandline.cli.bench_options import Payloads, json_or_text_option, partitions_option, prepare_topic, size_options
from strandline.cli.client_options import ClientCommand, changed
from strandline.cli.latencies import percentile_values, percentiles
from strandline.cli.output import Output
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.fetching import Fetcher
from strandline.client.offsets import LATEST, offsets_at
from strandline.client.producer import Producer
from strandline.client.settings import ClientSettings
from strandline.model.partitions import TopicPartition

TELL_EVERY = 1_000
WAIT_S = 60.0


@click.command(
    cls=ClientCommand,
    client_defaults={"allow.auto.create.topics": "true"},
    short_help="Write and read one record after another, and say how long each takes.",
)
@click.argument("topic")
@size_options(1_000)
@partitions_option
@json_or_text_option
def e2e(
    topic: str,
    record_count: int,
    record_bytes: int,
    partitions: int | None,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Write and read one record after another, and say how long each takes.

    From before it is sent until it has been read again, through partition 0. The lines are those of kafka-e2e-latency.
    """
    output = Output(output_format)

    async def work(cluster: Cluster) -> list[float]:
        await prepare_topic(cluster, topic, partitions)
        return await measure(cluster, TopicPartition(topic, 0), record_count, record_bytes, output)

    latencies_ms = run(changed(settings, linger_ms=0), work)
    average_ms = sum(latencies_ms) / len(latencies_ms)
    found_ms = percentiles(latencies_ms)
    if output.is_json:
        values: dict[str, Any] = {"records": record_count, "average": round(average_ms, 3)}
        output.object(values | {"maximum": round(max(latencies_ms), 3)} | percentile_values(found_ms))
        return
    output.line(f"Avg latency: {average_ms:.4f} ms")
    p50, _, p99, p999 = (int(each) for each in found_ms)
    output.line(f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}")


async def measure(
    cluster: Cluster, partition: TopicPartition, record_count: int, record_bytes: int, output: Output
) -> list[float]:
    latencies_ms = []
    payloads = Payloads(record_bytes)
    await cluster.topics([partition.topic])
    begins = await offsets_at(cluster, [partition], LATEST)
    async with Producer(cluster) as producer:
        with Fetcher(cluster, begins) as fetcher:
            await fetcher.poll(timeout_ms=0)  # so that a fetch waits at the broker
            for number in range(record_count):
                value = payloads.make(number)
                begin = time.perf_counter()
                await producer.send(partition.topic, value, partition=partition.partition)
                await _read_back(fetcher, value, begin)
                latencies_ms.append((time.perf_counter() - begin) * 1000)
                if number % TELL_EVERY == 0 and not output.is_json:
                    output.line(f"{number}\t{latencies_ms[-1]}")
                    output.flush()
    return latencies_ms


async def _read_back(fetcher: Fetcher, value: bytes, begin: float) -> None:
    while True:
        for fetched in await fetcher.poll():
            for record in fetched.read():
                if record.value != value:
                    raise ClientError(f"{fetched.partition} has a record of somebody else: use a topic of its own")
                return
        if time.perf_counter() - begin > WAIT_S:
            raise ClientError(f"a record did not come back within {WAIT_S:.0f} s")
