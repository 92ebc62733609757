"""Latencies of many records: windows while it runs, a summary at the end, in the words of `kafka-producer-perf-test`.

Kafka's tool keeps every n-th latency, such that there are at most 500,000. So do we.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

SAMPLES_MAX = 500_000
MEGABYTE = 1024 * 1024
PERCENTILES = (0.5, 0.95, 0.99, 0.999)


class Window(NamedTuple):
    """What happened in a stretch of time."""

    record_count: int
    size_bytes: int
    elapsed_s: float
    latency_sum_ms: float
    latency_max_ms: float

    @property
    def records_per_second(self) -> float:
        return self.record_count / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def megabytes_per_second(self) -> float:
        return self.size_bytes / MEGABYTE / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def latency_average_ms(self) -> float:
        return self.latency_sum_ms / self.record_count if self.record_count else 0.0

    def __str__(self) -> str:
        return (
            f"{self.record_count} records sent, {self.records_per_second:.1f} records/sec"
            f" ({self.megabytes_per_second:.2f} MB/sec), {self.latency_average_ms:.1f} ms avg latency,"
            f" {self.latency_max_ms:.1f} ms max latency."
        )


class Latencies:
    def __init__(self, record_count: int, start_s: float) -> None:
        self._every = max(1, record_count // min(max(1, record_count), SAMPLES_MAX))
        self._samples = array("d")
        self._start_s = self._window_start_s = start_s
        self._seen = self._window_seen = 0
        self._size_bytes = self._window_size_bytes = 0
        self._sum_ms = self._window_sum_ms = 0.0
        self._max_ms = self._window_max_ms = 0.0

    def add(self, latency_ms: float, size_bytes: int) -> None:
        if self._seen % self._every == 0:
            self._samples.append(latency_ms)
        self._seen += 1
        self._window_seen += 1
        self._size_bytes += size_bytes
        self._window_size_bytes += size_bytes
        self._sum_ms += latency_ms
        self._window_sum_ms += latency_ms
        self._max_ms = max(self._max_ms, latency_ms)
        self._window_max_ms = max(self._window_max_ms, latency_ms)

    def end_window(self, now_s: float) -> Window:
        window = Window(
            self._window_seen,
            self._window_size_bytes,
            now_s - self._window_start_s,
            self._window_sum_ms,
            self._window_max_ms,
        )
        self._window_start_s, self._window_seen, self._window_size_bytes = now_s, 0, 0
        self._window_sum_ms = self._window_max_ms = 0.0
        return window

    def summary(self, now_s: float) -> Summary:
        total = Window(self._seen, self._size_bytes, now_s - self._start_s, self._sum_ms, self._max_ms)
        return Summary(total, percentiles(self._samples))


class Summary(NamedTuple):
    total: Window
    percentiles_ms: tuple[float, ...]

    def __str__(self) -> str:
        p50, p95, p99, p999 = (int(each) for each in self.percentiles_ms)
        return (
            f"{self.total.record_count} records sent, {self.total.records_per_second:.1f} records/sec"
            f" ({self.total.megabytes_per_second:.2f} MB/sec), {self.total.latency_average_ms:.2f} ms avg latency,"
            f" {self.total.latency_max_ms:.2f} ms max latency,"
            f" {p50} ms 50th, {p95} ms 95th, {p99} ms 99th, {p999} ms 99.9th."
        )

    def as_values(self) -> dict[str, Any]:
        return {
            "records": self.total.record_count,
            "bytes": self.total.size_bytes,
            "seconds": round(self.total.elapsed_s, 3),
            "records_per_second": round(self.total.records_per_second, 1),
            "megabytes_per_second": round(self.total.megabytes_per_second, 2),
            "latency_ms": {
                "average": round(self.total.latency_average_ms, 3),
                "maximum": round(self.total.latency_max_ms, 3),
                **percentile_values(self.percentiles_ms),
            },
        }


def percentiles(samples: Sequence[float]) -> tuple[float, ...]:
    """As Kafka's tool picks them: the sample at that part of their sorted line."""
    line = sorted(samples)
    return tuple(line[min(int(part * len(line)), len(line) - 1)] if line else 0.0 for part in PERCENTILES)


def percentile_values(values_ms: Sequence[float]) -> dict[str, float]:
    return {f"p{part * 100:g}": round(value, 3) for part, value in zip(PERCENTILES, values_ms, strict=True)}
