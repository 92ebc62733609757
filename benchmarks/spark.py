"""`python -m benchmarks.spark`: rows a second and CPU per million rows, from the bytes of a topic to Spark.

What Spark does is spread over its JVM and its Python workers, so CPU time is that of every process under this one, a
broker's included. Each figure is the median of several rounds, in which the sources take turns, after one that warms up
the JVM. `SOURCES` is where another source is added: a function from the session and the topic to a DataFrame, which is
then written to Spark's `noop`. With `--connector`, Spark's own source for Kafka (from Maven) is among them, on the same
broker, and ours are compared with it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from benchmarks.batches import NOW_MS, new_log, records_of
from benchmarks.measure import Figure, Timing, interleave, share
from benchmarks.scratch import CHECKOUT, Run, scratch_folder
from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.producer import Producer
from strandline.client.settings import ClientSettings
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch
from strandline.spark.arrow_decoding import ArrowDecoder
from strandline.testing import Broker

BATCH_BYTES = 16 * 1024
DECODE_AIM = 1_000_000  # records of 100 bytes, a second and core
CHUNK_BYTES = 8 * 2**20
NAME = "benchmark"
FLOOR_ROWS = 20
# Hadoop's other way of writing checkpoints forks a process for each file.
CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


class Topic(NamedTuple):
    directory: str
    record_bytes: int
    records: int
    bootstrap: str = ""  # of a broker on that directory

    @property
    def log_file(self) -> str:
        return f"{self.directory}/{NAME}-0/{0:020d}.log"


class Line(NamedTuple):
    what: str
    records: int
    record_bytes: int
    timings: Sequence[Timing]
    aim: int | None = None  # rows for a second of CPU
    share: Figure | None = None  # of the connector's speed
    share_aim: float | None = None


def segments(spark: Any, topic: Topic) -> Any:
    return spark.read.format("strandline.segments").load(topic.directory)


def segments_few_columns(spark: Any, topic: Topic) -> Any:
    """As many bytes as Spark's Kafka connector gives."""
    columns = "key binary, value binary, topic string, partition int, offset bigint"
    reader = spark.read.format("strandline.segments").schema(f"{columns}, timestamp timestamp, timestampType int")
    return reader.load(topic.directory)


def from_broker(spark: Any, topic: Topic, source: str) -> Any:
    """The one partition cut over all cores."""
    reader = spark.read.format(source).option("kafka.bootstrap.servers", topic.bootstrap)
    return reader.options(subscribe=NAME, minPartitions=str(os.cpu_count())).load()


CONNECTOR = 'format("kafka"), Spark\'s own'
SOURCES: dict[str, Callable[[Any, Topic], Any]] = {
    'format("strandline")': partial(from_broker, source="strandline"),
    'format("strandline.segments"), all columns': segments,
    'format("strandline.segments"), the connector\'s columns': segments_few_columns,
    CONNECTOR: partial(from_broker, source="kafka"),
}
# Of the connector's speed, at 1 KiB; in other words: faster, for the files.
SHARE_AIMS = {
    'format("strandline")': 0.8,
    'format("strandline.segments"), the connector\'s columns': 1.0,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description="From a topic's bytes to Spark.")
    parser.add_argument("--quick", action="store_true", help="less of everything: for a glance, not for a verdict")
    parser.add_argument("--decode-only", action="store_true", help="without Spark")
    parser.add_argument(
        "--connector", action="store_true", help="Spark's own source for Kafka beside ours; needs Maven"
    )
    options = parser.parse_args(arguments)
    with scratch_folder() as scratch, ExitStack() as stack:
        run = Run(scratch, options.quick)
        topics = [make_topic(run, 100, run.some(3_000_000, 100_000)), make_topic(run, 1024, run.some(600_000, 20_000))]
        lines = [decoding(run, topic) for topic in topics]
        floors: list[str] = []
        if not options.decode_only:
            spark = stack.enter_context(spark_session(connector_jars() if options.connector else None))
            names = [name for name in SOURCES if options.connector or name != CONNECTOR]
            for topic in topics:
                with Broker(process=True, data=topic.directory, log_retention_ms=-1) as broker:
                    served = topic._replace(bootstrap=broker.bootstrap)
                    lines += reading(run, spark, served, names)
            floors = [f"{name}: {floor_ms(run, spark, name):,.0f} ms" for name in names if "segments" not in name]
        print(f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f}")
        print(as_text(lines))
        if floors:
            print("the least that a micro-batch of 20 rows takes, median: " + "; ".join(floors))
    return 0


def connector_jars() -> str:
    from tests.interop.spark import fetch_spark

    return str(fetch_spark().jars)


def make_topic(run: Run, record_bytes: int, records: int) -> Topic:
    """One segment of one partition: the same batch again and again."""
    directory = f"{run.scratch}/{record_bytes}"
    folder = f"{directory}/{NAME}-0"
    os.makedirs(folder)
    count = BATCH_BYTES // record_bytes
    batch = build_batch(records_of(count, record_bytes, key_bytes=8))
    log = new_log(folder, LogSettings(segment_bytes=2**31 - 1))
    for _ in range(records // count):
        log.append([bytearray(batch)], leader_epoch=0, now_ms=NOW_MS)
    log.close(now_ms=NOW_MS)
    return Topic(directory, record_bytes, records // count * count)


def decoding(run: Run, topic: Topic) -> Line:
    """One core, bytes in memory to Arrow columns, CRCs checked."""
    decoder, rounds = ArrowDecoder(), run.some(7, 3)
    with open(topic.log_file, "rb") as file:
        data = memoryview(file.read())
    timings = [measured(lambda: decode_all(decoder, data)) for _ in range(rounds)]
    aim = DECODE_AIM if topic.record_bytes == 100 else None
    return Line("decode alone, one core", topic.records, topic.record_bytes, timings, aim)


def decode_all(decoder: ArrowDecoder, data: memoryview) -> int:
    """In chunks, as they come from a fetch."""
    position = rows = offset = 0
    while position < len(data):
        decoded = decoder.decode(data[position : position + CHUNK_BYTES], from_offset=offset)
        rows += sum(each.num_rows for each in decoded.record_batches)
        batch_bytes = int.from_bytes(data[8:12], "big") + 12  # all are of one size
        position += len(data[position : position + CHUNK_BYTES]) // batch_bytes * batch_bytes
        offset = decoded.next_offset
    return rows


def reading(run: Run, spark: Any, topic: Topic, names: Sequence[str]) -> list[Line]:
    def read(name: str) -> Timing:
        return measured(lambda: SOURCES[name](spark, topic).write.format("noop").mode("overwrite").save())

    for name in names:
        read(name)
    found = interleave(run.some(5, 2), *(partial(read, name) for name in names))
    timings = dict(zip(names, found, strict=True))
    theirs = timings.get(CONNECTOR)
    return [
        Line(
            name,
            topic.records,
            topic.record_bytes,
            timings[name],
            share=None if theirs is None or name == CONNECTOR else share(timings[name], theirs),
            share_aim=SHARE_AIMS.get(name) if topic.record_bytes >= 1024 else None,
        )
        for name in names
    ]


def floor_ms(run: Run, spark: Any, name: str) -> float:
    """Of batches that hold next to nothing, from trigger to trigger."""
    source = "kafka" if name == CONNECTOR else "strandline"
    batches = run.some(40, 6)
    with Broker(process=True) as broker, run.folder(f"floor-{source}") as folder:
        broker.create_topic(NAME, 1)
        with Blocking(ClientSettings(bootstrap_servers=(broker.bootstrap,))) as client:
            client(partial(fill, batches * FLOOR_ROWS))
        reader = spark.readStream.format(source).option("kafka.bootstrap.servers", broker.bootstrap)
        reader = reader.options(subscribe=NAME, startingOffsets="earliest", maxOffsetsPerTrigger=str(FLOOR_ROWS))
        writer = reader.load().writeStream.format("noop").option("checkpointLocation", folder)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        took = [each["durationMs"]["triggerExecution"] for each in query.recentProgress if each["numInputRows"]]
    return float(median(took[batches // 3 :]))


async def fill(rows: int, cluster: Cluster) -> None:
    async with Producer(cluster) as producer:
        for number in range(rows):
            await producer.send(NAME, b"%d" % number, partition=0)


def measured(work: Callable[[], object]) -> Timing:
    cpu, wall = cpu_seconds(), time.perf_counter()
    work()
    return Timing(time.perf_counter() - wall, cpu_seconds() - cpu)


def cpu_seconds() -> float:
    """Of this process and all below it, those that have ended included."""
    ticks, parents = {}, {}
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        parents[int(name)] = int(fields[1])
        ticks[int(name)] = sum(map(int, fields[11:15]))
    return sum(ticks[process] for process in family_of(os.getpid(), parents)) / os.sysconf("SC_CLK_TCK")


def family_of(process: int, parents: dict[int, int]) -> Iterator[int]:
    yield process
    for child, parent in parents.items():
        if parent == process:
            yield from family_of(child, parents)


@contextmanager
def spark_session(jars: str | None) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([f"{CHECKOUT}/src", os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master(f"local[{os.cpu_count()}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.streaming.checkpointFileManagerClass", CHECKPOINTS)
    if jars is not None:
        builder = builder.config("spark.driver.extraClassPath", f"{jars}/*")
    session = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR").getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def as_text(lines: Sequence[Line]) -> str:
    head = ("what", "bytes", "rows/s", "MB/s", "CPU s per million rows", "of the connector", "by CPU", "aim", "met")
    cells: list[tuple[str, ...]] = [head]
    cells += [_cells(line) for line in lines]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )


def _cells(line: Line) -> tuple[str, ...]:
    wall_s = median(timing.wall_s for timing in line.timings)
    cpu_s = max(median(timing.cpu_s for timing in line.timings), 1e-9)
    return (
        line.what,
        f"{line.record_bytes:,}",
        f"{line.records / wall_s:,.0f}",
        f"{line.records * line.record_bytes / wall_s / 1e6:,.0f}",
        f"{cpu_s / line.records * 1e6:.2f}",
        "" if line.share is None else f"{line.share.wall:.2f}",
        "" if line.share is None else f"{line.share.cpu:.2f}",
        *_verdict(line, cpu_s),
    )


def _verdict(line: Line, cpu_s: float) -> tuple[str, str]:
    if line.aim is not None:
        return f"≤ {1e6 / line.aim:.2f}", "yes" if line.records / cpu_s >= line.aim else "NO"
    if line.share is not None and line.share_aim is not None:
        return f"≥ {line.share_aim:.1f}", "yes" if line.share.wall >= line.share_aim else "NO"
    return "", ""


if __name__ == "__main__":
    sys.exit(main())
