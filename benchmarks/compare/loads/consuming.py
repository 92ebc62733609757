"""Consumers: catching up, tailing, one stream for eight, and some far behind while others tail (SPEC P5)."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from benchmarks.compare.bench import Bench
from benchmarks.compare.load_kind import Load, Measured
from benchmarks.compare.loads.producing import figures_of
from benchmarks.compare.pool import Ran, Task
from benchmarks.compare.side import Side

RECORD_BYTES = 1024
BACKLOG = "backlog"
READ_RECORDS = 2_048_000  # in a turn: one pass over 400 MB takes a tenth of a second of a broker, too little to compare


@dataclass(frozen=True, kw_only=True)
class CatchUp(Load):
    consumers: int

    def prepare(self, bench: Bench) -> None:
        fill(bench, self.consumers, _backlog_records(bench) // self.consumers)

    def turn(self, bench: Bench) -> Measured:
        """Each consumer reads a partition of its own from its beginning to its end, in some passes."""
        records = _backlog_records(bench) // self.consumers
        tasks = [_consume(bench, [number], records) for number in range(self.consumers)]

        def read() -> Measured:
            ran = bench.run(*tasks)
            return figures_of(ran, int(ran.total("records")) * RECORD_BYTES)

        return mean_of_passes(bench, records * self.consumers, read)


@dataclass(frozen=True, kw_only=True)
class EndToEnd(Load):
    """One producer at a steady rate, consumers at the end of the topic."""

    records_per_s: int
    consumers: int = 1
    record_bytes: int = RECORD_BYTES

    def turn(self, bench: Bench) -> Measured:
        records = self.records_per_s * bench.scale.some(6, 2)
        with bench.topic() as topic:
            ran = bench.run(*steady(topic, self.records_per_s, records, self.record_bytes, self.consumers))
        delivered_bytes = records * self.consumers * self.record_bytes
        tails = [result for result in ran.results if "p99_ms" in result]
        slowest = {name: max(tail[name] for tail in tails) for name in ("p50_ms", "p99_ms", "p99_9_ms")}
        cost = figures_of(ran, delivered_bytes)
        del cost["mb_per_s"]  # which was given
        return cost | slowest


@dataclass(frozen=True, kw_only=True)
class FarBehind(Load):
    """Does it disturb those at the end that others read what has long left memory? The same tail without them, beside
    as many who read what is in memory (clients take their share of two cores whatever they read), and beside them."""

    records_per_s: int = 2_000
    readers: int = 2

    def prepare(self, bench: Bench) -> None:
        fill(bench, self.readers, _backlog_records(bench))

    def turn(self, bench: Bench) -> Measured:
        records = self.records_per_s * bench.scale.some(6, 2)
        with bench.topic() as topic:
            tail = steady(topic, self.records_per_s, records, RECORD_BYTES, 1)
            readers = [_consume(bench, [number], _backlog_records(bench)) for number in range(self.readers)]
            alone = _of_tail(bench.run(*tail))
            remember_pages(bench.side, bench.kept[BACKLOG])
            near = _of_tail(bench.run(*tail, *readers))
            forget_pages(bench.side, bench.kept[BACKLOG])
            behind = _of_tail(bench.run(*tail, *readers))
        return {
            "p50_ms": behind["p50_ms"],
            "p99_ms": behind["p99_ms"],
            "alone_p99_ms": alone["p99_ms"],
            "near_p99_ms": near["p99_ms"],
            "p99_moved": behind["p99_ms"] / alone["p99_ms"],
            "p99_moved_by_disk": behind["p99_ms"] / near["p99_ms"],
        }


def fill(bench: Bench, partitions: int, records: int, settings: dict[str, str] | None = None) -> str:
    """The backlog, in batches as one producer makes them."""
    topic = bench.keep(BACKLOG, partitions, settings)
    for number in range(partitions):
        bench.run(
            {
                "do": "produce",
                "topic": topic,
                "partitions": [number],
                "records": records,
                "record_bytes": RECORD_BYTES,
                "batch_bytes": 16_384,
            }
        )
    bench.check_records(topic, partitions, partitions * records)
    return topic


def mean_of_passes(bench: Bench, records: int, read: Callable[[], Measured]) -> Measured:
    """Of so many passes over so many records that the broker has something to do; a quick run is content with one."""
    passes = [read() for _ in range(bench.scale.some(max(1, READ_RECORDS // records), 1))]
    return {name: fmean(each[name] for each in passes) for name in passes[0]}


def steady(topic: str, records_per_s: int, records: int, record_bytes: int, consumers: int) -> list[Task]:
    producer: Task = {
        "do": "produce at a rate",
        "topic": topic,
        "records": records,
        "records_per_s": records_per_s,
        "record_bytes": record_bytes,
        "linger_ms": 0,
    }
    tail: Task = {"do": "tail", "topic": topic, "records": records}
    return [*([tail] * consumers), producer]


def _of_tail(ran: Ran) -> dict[str, Any]:
    return next(each for each in ran.results if "p99_ms" in each)


def remember_pages(side: Side, topic: str) -> None:
    for folder in side.data:
        for path in glob.glob(f"{folder}/{topic}-*/*.log"):
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass


def forget_pages(side: Side, topic: str) -> None:
    """The topic leaves memory, as what was written days ago has. Only written pages can go."""
    for folder in side.data:
        for path in glob.glob(f"{folder}/{topic}-*/*.log"):
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)


def _consume(bench: Bench, partitions: list[int], records: int) -> Task:
    return {"do": "consume", "topic": bench.kept[BACKLOG], "partitions": partitions, "records": records}


def _backlog_records(bench: Bench) -> int:
    return bench.scale.some(400_000, 40_000)


LOADS: list[Load] = [
    CatchUp(name="catch-up-1", title="catch-up by 1 consumer, 1 KiB records", consumers=1),
    CatchUp(name="catch-up-4", title="catch-up by 4 consumers, 1 KiB records", consumers=4),
    EndToEnd(name="end-to-end-1k", title="end to end at 1,000 records/s of 1 KiB", records_per_s=1_000),
    EndToEnd(
        name="end-to-end-10k", title="end to end at 10,000 records/s of 100 B", records_per_s=10_000, record_bytes=100
    ),
    EndToEnd(
        name="fan-out-8", title="end to end at 1,000 records/s of 1 KiB, 8 consumers", records_per_s=1_000, consumers=8
    ),
    FarBehind(name="far-behind", title="a tail at 2,000 records/s while 2 read what is no longer in memory"),
]
