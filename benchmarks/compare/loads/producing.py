"""Producers as fast as they can: sizes of records and of batches, how many, acknowledgements, codecs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from benchmarks.compare.bench import Bench
from benchmarks.compare.load_kind import Load, Measured, Stage
from benchmarks.compare.pool import Ran

FULL_BYTES = 128_000_000
QUICK_BYTES = 16_000_000
RECORD_BYTES = {"100b": 100, "1k": 1024, "10k": 10_240}
BATCH_BYTES = {"16k": 16_384, "1m": 1_000_000}
CODECS = ("none", "lz4", "zstd")


@dataclass(frozen=True, kw_only=True)
class Produce(Load):
    record: str = "1k"
    batch: str = "16k"
    producers: int = 1
    acks: str = "1"
    codec: str = "none"

    def turn(self, bench: Bench) -> Measured:
        """Each producer has a partition of its own."""
        record_bytes = RECORD_BYTES[self.record]
        records = bench.scale.some(FULL_BYTES, QUICK_BYTES) // record_bytes // self.producers
        with bench.topic(self.producers) as topic:
            ran = bench.run(
                *(
                    {
                        "do": "produce",
                        "topic": topic,
                        "partitions": [number],
                        "records": records,
                        "record_bytes": record_bytes,
                        "batch_bytes": BATCH_BYTES[self.batch],
                        "acks": "all" if self.acks == "all" else 1,
                        "codec": self.codec,
                    }
                    for number in range(self.producers)
                )
            )
            bench.check_records(topic, self.producers, records * self.producers)
            kept_bytes = bench.side.topic_bytes(topic)
        sent_bytes = records * self.producers * record_bytes
        return figures_of(ran, sent_bytes) | {"disk_ratio": kept_bytes / sent_bytes}


def figures_of(ran: Ran, sent_bytes: int) -> Measured:
    return {
        "cpu_s_per_gb": ran.cpu_s / sent_bytes * 1e9,
        "cpu_ms_per_1000_requests": ran.cpu_s * 1e6 / max(1.0, ran.total("requests")),
        "mb_per_s": sent_bytes / 1e6 / ran.wall_s,
    }


def _named(load: Produce) -> Produce:
    """Its name and title, from what it does."""
    name = f"produce-{load.record}-{load.batch}-{load.producers}p-acks{load.acks}-{load.codec}"
    many = "1 producer" if load.producers == 1 else f"{load.producers} producers"
    sizes = {"100b": "100 B", "1k": "1 KiB", "10k": "10 KiB", "16k": "16 KB", "1m": "1 MB"}
    codec = "" if load.codec == "none" else f", {load.codec}"
    title = f"produce {sizes[load.record]} in {sizes[load.batch]}, {many}, acks={load.acks}{codec}"
    if load.stage is Stage.IN_THREES:
        return replace(load, name=f"rf3-{name}", title=f"RF 3: {title}")
    return replace(load, name=name, title=title)


def grid(*, is_whole: bool) -> list[Load]:
    """All 72 of them, or 28: without codec those with acks=1, and acks=all for records of 1 KiB; of each codec with
    acks=1 the records of 100 B and 1 KiB, but for 8 producers of large batches."""
    everything = (
        _named(Produce(name="", title="", record=record, batch=batch, producers=producers, acks=acks, codec=codec))
        for codec, acks, record, producers, batch in product(CODECS, ("1", "all"), RECORD_BYTES, (1, 8), BATCH_BYTES)
    )
    return [load for load in everything if is_whole or _is_telling(load)]


def _is_telling(load: Produce) -> bool:
    if load.codec != "none":
        return load.acks == "1" and load.record != "10k" and (load.producers == 1 or load.batch == "16k")
    return load.acks == "1" or load.record == "1k"


def replicated() -> list[Load]:
    return [
        _named(Produce(name="", title="", stage=Stage.IN_THREES, batch=batch, producers=producers, acks="all"))
        for producers, batch in product((1, 8), BATCH_BYTES)
    ]
