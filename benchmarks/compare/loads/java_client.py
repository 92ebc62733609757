"""Kafka's own measure of a producer, `kafka-producer-perf-test`, with Kafka's own client and its default settings."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.interop.kafka import fetch
from tests.interop.tools import CLASSES, class_of

from benchmarks.compare.bench import Bench
from benchmarks.compare.load_kind import Load, Measured
from benchmarks.compare.side import CompareFailed

SERIES = "4.3"
# "500000 records sent, 91074.7 records/sec (88.94 MB/sec), 200.1 ms avg latency, 471.0 ms max latency, …"
VERDICT = re.compile(r"(\d+) records sent, [\d.,]+ records/sec \(([\d.,]+) MB/sec\)")
MIB = 2**20


@dataclass(frozen=True, kw_only=True)
class ProducerPerfTest(Load):
    record_bytes: int = 1024
    rounds_max: int = 5

    def turn(self, bench: Bench) -> Measured:
        records = bench.scale.some(500_000, 50_000)
        kafka = fetch(SERIES)
        with bench.topic() as topic:
            before_s = bench.side.cpu_s()
            done = kafka.run(
                class_of(kafka.jars, CLASSES["kafka-producer-perf-test"]),
                *("--topic", topic, "--num-records", str(records), "--record-size", str(self.record_bytes)),
                *("--throughput", "-1", "--producer-props", f"bootstrap.servers={bench.side.bootstrap}"),
            )
            cpu_s = bench.side.cpu_s() - before_s
            verdict = VERDICT.findall(done.stdout)
            if done.exit_code != 0 or not verdict:
                raise CompareFailed(f"kafka-producer-perf-test failed: {(done.stderr or done.stdout).strip()[-200:]}")
            bench.check_records(topic, 1, records)
        return {
            "cpu_s_per_gb": cpu_s / (records * self.record_bytes) * 1e9,
            "mb_per_s": float(verdict[-1][1].replace(",", ".")) * MIB / 1e6,
        }


LOADS: list[Load] = [
    ProducerPerfTest(
        name="java-producer",
        title="kafka-producer-perf-test, 1 KiB, its defaults (acks=all)",
        note="idempotent, as is Java's default; of the other loads only the transactions are",
    )
]
