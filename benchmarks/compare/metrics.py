"""What is measured, in which unit, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    title: str
    unit: str
    is_better_larger: bool = False


# What a unit of a rate costs the broker, and CPU seconds a second of the product: so much of a core the broker is busy.
COSTS_OF_RATES = {"mb_per_s": ("cpu_s_per_gb", 1e-3), "requests_per_s": ("cpu_ms_per_1000_requests", 1e-6)}

# In the order of the table: the broker's cost comes first.
METRICS: dict[str, Metric] = {
    "cpu_s_per_gb": Metric("broker CPU a GB", "s"),
    "cpu_ms_per_1000_requests": Metric("broker CPU for 1,000 requests", "ms"),
    "cpu_ms_per_1000_transactions": Metric("broker CPU for 1,000 transactions", "ms"),
    "cpu_us_per_record": Metric("broker CPU a record", "µs"),
    "cpu_s": Metric("broker CPU", "s"),
    "deletion_cpu_s": Metric("broker CPU to delete them", "s"),
    "idle_cpu_ms_per_s": Metric("broker CPU in an idle second", "ms"),
    "mb_per_s": Metric("throughput", "MB/s", is_better_larger=True),
    "requests_per_s": Metric("requests", "/s", is_better_larger=True),
    "p50_ms": Metric("latency, median", "ms"),
    "p99_ms": Metric("latency, p99", "ms"),
    "p99_9_ms": Metric("latency, p99.9", "ms"),
    "alone_p99_ms": Metric("latency, p99, nobody behind", "ms"),
    "near_p99_ms": Metric("latency, p99, beside 2 who read what is in memory", "ms"),
    "p99_moved": Metric("p99 beside those behind, to p99 without", "×"),
    "p99_moved_by_disk": Metric("p99 beside those behind, to p99 beside those near", "×"),
    "seconds": Metric("time", "s"),
    "deletion_s": Metric("time to delete them", "s"),
    "joined_s": Metric("until all have partitions", "s"),
    "left_s": Metric("after one has left", "s"),
    "resident_mb": Metric("memory (RSS)", "MB"),
    "disk_ratio": Metric("bytes on disk for a byte sent", ""),
}
