"""`strandline bench produce`: what `kafka-producer-perf-test` measures, with our own producer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import click

from strandline.cli.bench_options import Payloads, json_or_text_option, partitions_option, prepare_topic, size_options
from strandline.cli.client_options import ClientCommand
from strandline.cli.latencies import Latencies, Summary, Window
from strandline.cli.output import Output
from strandline.cli.running import run
from strandline.client.cluster import Cluster
from strandline.client.outgoing import OutgoingBatch
from strandline.client.producer import Producer
from strandline.client.settings import ClientSettings

WINDOW_S = 5.0
AHEAD_S = 0.002  # more than this ahead of the wanted throughput is worth a pause


@click.command(
    cls=ClientCommand,
    client_defaults={"allow.auto.create.topics": "true"},
    short_help="Write records, and say how fast and how late.",
)
@click.argument("topic")
@size_options(100_000)
@click.option("--throughput", type=float, default=-1, help="Records per second at most; -1 is as fast as it goes.")
@partitions_option
@json_or_text_option
def produce(
    topic: str,
    record_count: int,
    record_bytes: int,
    throughput: float,
    partitions: int | None,
    output_format: str,
    settings: ClientSettings,
) -> None:
    """Write records, and say how fast and how late.

    The line at the end is that of kafka-producer-perf-test. The producer is set with -X: batch.size, linger.ms, acks,
    compression.type.

    \b
    strandline bench produce trial -n 1000000 -s 100 -X batch.size=1000000 -X linger.ms=10
    """
    output = Output(output_format)

    def tell(window: Window) -> None:
        if not output.is_json:
            output.line(str(window))
            output.flush()

    async def work(cluster: Cluster) -> Summary:
        await prepare_topic(cluster, topic, partitions)
        await cluster.topics([topic])
        return await measure(cluster, topic, record_count, record_bytes, throughput, tell)

    summary = run(settings, work)
    if output.is_json:
        output.object(summary.as_values())
    else:
        output.line(str(summary))


async def measure(
    cluster: Cluster,
    topic: str,
    record_count: int,
    record_bytes: int,
    throughput: float,
    tell: Callable[[Window], None],
) -> Summary:
    loop = asyncio.get_running_loop()
    payloads = Payloads(record_bytes)
    start_s = loop.time()
    latencies = Latencies(record_count, start_s)
    sent_s: dict[OutgoingBatch, list[float]] = {}

    def settled(batch: OutgoingBatch, _: asyncio.Future[int]) -> None:
        now_s = loop.time()
        for each_s in sent_s.pop(batch):
            latencies.add((now_s - each_s) * 1000, record_bytes)

    next_window_s = start_s + WINDOW_S
    async with Producer(cluster) as producer:
        for number in range(record_count):
            now_s = loop.time()
            delivery = await producer.send(topic, payloads.make(number))
            if delivery.number == 0:
                sent_s[delivery.batch] = []
                delivery.batch.base_offset.add_done_callback(partial(settled, delivery.batch))
            sent_s[delivery.batch].append(now_s)
            if now_s >= next_window_s:
                tell(latencies.end_window(now_s))
                next_window_s = now_s + WINDOW_S
            if throughput > 0:
                ahead_s = start_s + (number + 1) / throughput - loop.time()
                if ahead_s > AHEAD_S:
                    await asyncio.sleep(ahead_s)
            if producer.failure is not None:
                break
        await producer.flush()
    if producer.failure is not None:
        raise producer.failure
    return latencies.summary(loop.time())
