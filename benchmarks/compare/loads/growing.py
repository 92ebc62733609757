"""How cost grows with what a broker holds: partitions, and segments of a log."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from benchmarks.compare.bench import Bench
from benchmarks.compare.load_kind import Load, Measured
from benchmarks.compare.loads.consuming import BACKLOG, RECORD_BYTES, fill, mean_of_passes
from benchmarks.compare.loads.producing import figures_of

SMALLEST_SEGMENT_BYTES = 1_048_576  # Kafka 4 refuses smaller ones
PARTITIONS = (1, 10, 100, 500, 2_000)
SEGMENTS = (1, 5, 20, 50, 200)
READ_BYTES = 200 * SMALLEST_SEGMENT_BYTES  # also by a quick run, or there would be fewer segments than the row says
RECORDS = READ_BYTES // RECORD_BYTES


@dataclass(frozen=True, kw_only=True)
class OverPartitions(Load):
    """One producer that goes round a topic of so many partitions."""

    partitions: int

    def prepare(self, bench: Bench) -> None:
        bench.keep(BACKLOG, self.partitions)

    def turn(self, bench: Bench) -> Measured:
        """A partition gets a thousand records at a time, so that batches are full whatever the number."""
        records = bench.scale.some(2_000_000, 200_000)
        ran = bench.run(
            {
                "do": "produce",
                "topic": bench.kept[BACKLOG],
                "partitions": list(range(self.partitions)),
                "records": records,
                "record_bytes": 100,
                "linger_ms": 5,
            }
        )
        idle_s = bench.scale.some(3, 1)
        before = bench.side.cpu_s()
        time.sleep(idle_s)
        return {
            "cpu_us_per_record": ran.cpu_s / records * 1e6,
            "cpu_ms_per_1000_requests": ran.cpu_s * 1e6 / max(1.0, ran.total("requests")),
            "idle_cpu_ms_per_s": (bench.side.cpu_s() - before) / idle_s * 1e3,
            "resident_mb": bench.side.resident_bytes() / 1e6,
        }


@dataclass(frozen=True, kw_only=True)
class OverSegments(Load):
    """A log cut into many pieces of a megabyte, as one of 200 GB is into pieces of a gigabyte; then read."""

    segments: int

    def prepare(self, bench: Bench) -> None:
        fill(bench, 1, RECORDS, {"segment.bytes": str(READ_BYTES // self.segments)})

    def turn(self, bench: Bench) -> Measured:
        """Read from its beginning to its end, in some passes."""
        return mean_of_passes(bench, RECORDS, partial(self._read, bench))

    def _read(self, bench: Bench) -> Measured:
        ran = bench.run({"do": "consume", "topic": bench.kept[BACKLOG], "partitions": [0], "records": RECORDS})
        return figures_of(ran, RECORDS * RECORD_BYTES) | {"cpu_us_per_record": ran.cpu_s / RECORDS * 1e6}


LOADS: list[Load] = [
    *(
        OverPartitions(
            name=f"partitions-{count}", title=f"produce 100 B over {count:,} partitions", partitions=count, rounds_max=5
        )
        for count in PARTITIONS
    ),
    *(
        OverSegments(name=f"segments-{count}", title=f"catch-up over {count} segments", segments=count)
        for count in SEGMENTS
    ),
]
