"""Batches and records in memory: no file is touched."""

from __future__ import annotations

from collections import deque

from benchmarks.batches import NEARLY_16_KIB, batch_of_bytes, records_of
from benchmarks.measure import Row, interleave, rate, share, timed
from benchmarks.scratch import Run
from strandline.records.builder import build_batch
from strandline.records.crc import crc32c
from strandline.records.record import read_records, records_section
from strandline.records.walk import IS_COMPILED, walk_records_compiled, walk_records_pure

RECORD_COUNT = 1000


def crc(run: Run) -> list[Row]:
    view = memoryview(batch_of_bytes(NEARLY_16_KIB))
    repeats = run.some(2000, 500)
    ours, copied = interleave(
        run.some(9, 3),
        lambda: timed(lambda: [crc32c(view) for _ in range(repeats)]),
        lambda: timed(lambda: [view.tobytes() and None for _ in range(repeats)]),
    )
    megabytes = repeats * len(view) / 1e6
    return [
        Row(
            what="CRC-32C of 16 KiB",
            unit="MB/s",
            ours=rate(ours, megabytes),
            twin="a copy of it",
            theirs=rate(copied, megabytes),
            share=share(ours, copied),
        )
    ]


def walk(run: Run) -> list[Row]:
    return _walk(run, 100) + _walk(run, 1024)


def _walk(run: Run, value_bytes: int) -> list[Row]:
    section = records_section(build_batch(records_of(RECORD_COUNT, value_bytes, key_bytes=8)))
    repeats = run.some(100, 30)
    fast = walk_records_compiled if IS_COMPILED else walk_records_pure
    ours, pure = interleave(
        run.some(9, 3),
        lambda: timed(lambda: [fast(section, RECORD_COUNT) and None for _ in range(repeats)]),
        lambda: timed(lambda: [walk_records_pure(section, RECORD_COUNT) and None for _ in range(repeats // 10)]),
    )
    pure = [each._replace(wall_s=each.wall_s * 10, cpu_s=each.cpu_s * 10) for each in pure]
    millions = repeats * RECORD_COUNT / 1e6
    return [
        Row(
            what=f"walk {value_bytes} B records" + ("" if IS_COMPILED else " (not compiled)"),
            unit="M/s",
            ours=rate(ours, millions),
            twin="its pure twin",
            theirs=rate(pure, millions),
            share=share(ours, pure),
        )
    ]


def read(run: Run) -> list[Row]:
    batch = build_batch(records_of(RECORD_COUNT, 100, key_bytes=8))
    repeats = run.some(20, 5)
    [ours] = interleave(
        run.some(9, 3), lambda: timed(lambda: [deque(read_records(batch), maxlen=0) for _ in range(repeats)])
    )
    return [Row(what="read 100 B records", unit="M/s", ours=rate(ours, repeats * RECORD_COUNT / 1e6))]


def build(run: Run) -> list[Row]:
    records = records_of(RECORD_COUNT, 100, key_bytes=8)
    repeats = run.some(10, 3)
    [ours] = interleave(run.some(9, 3), lambda: timed(lambda: [build_batch(records) for _ in range(repeats)]))
    return [Row(what="build a batch of 100 B records", unit="M/s", ours=rate(ours, repeats * RECORD_COUNT / 1e6))]
