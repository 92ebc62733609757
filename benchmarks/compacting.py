"""Compaction: a log in which each key was written twice on average, from planning to synced `.cleaned` files.

Speed is that of the log's own bytes, each of which is read twice: once to map its key, once to be copied or dropped.
Beside it: reading the log twice and writing, with a sync, as much as stayed.
"""

from __future__ import annotations

import os
import random
import tracemalloc
from itertools import count

from benchmarks.batches import MIB, NOW_MS, new_log
from benchmarks.measure import Aim, Figure, Row, interleave, rate, share, timed
from benchmarks.scratch import Run
from strandline.log import names
from strandline.log.compaction import Compaction
from strandline.log.log import Log
from strandline.log.offset_map import OffsetMap
from strandline.model.settings import CleanerSettings, LogSettings
from strandline.records.builder import build_batch
from strandline.records.record import Record

KEY_BYTES = 16
BATCH_BYTES = 16_000
SETTINGS = LogSettings(cleanup_policy=("compact",), segment_bytes=16 * MIB)
CLEANER = CleanerSettings()
MAP_BYTES = 16 * MIB


def compact_100(run: Run) -> list[Row]:
    return _compact(run, 100, run.some(32, 8) * MIB, aim=40)


def compact_1k(run: Run) -> list[Row]:
    return _compact(run, 1024, run.some(96, 16) * MIB, aim=200)


def _compact(run: Run, record_bytes: int, log_bytes: int, *, aim: int) -> list[Row]:
    with run.folder("compact") as folder:
        log = new_log(f"{folder}/log", SETTINGS)
        _fill(log, record_bytes, log_bytes)
        written_bytes = _compact_once(log)
        paths = [segment.path(names.LOG) for segment in log.segments.all()]
        ours, bare = interleave(
            run.some(5, 2),
            lambda: timed(lambda: _compact_once(log)),
            lambda: timed(lambda: _copy(paths, f"{folder}/copy", written_bytes)),
        )
        megabytes = log.size_bytes / 1e6
        log.close(NOW_MS)
    return [
        Row(
            what=f"compact {record_bytes:,} B records",
            unit="MB/s",
            ours=rate(ours, megabytes),
            twin="2 reads, write, fsync",
            theirs=rate(bare, megabytes),
            share=share(ours, bare),
            aim=Aim(at_least=aim),
        )
    ]


def _fill(log: Log, record_bytes: int, log_bytes: int) -> None:
    source = random.Random(1)
    key_count = log_bytes // record_bytes // 2
    value = source.randbytes(record_bytes - KEY_BYTES)
    per_batch = max(1, BATCH_BYTES // record_bytes)
    while log.size_bytes < log_bytes:
        keys = [source.randrange(key_count) for _ in range(per_batch)]
        records = [Record(offset, NOW_MS, b"%016d" % key, value) for offset, key in enumerate(keys)]
        log.append([build_batch(records)], leader_epoch=1, now_ms=NOW_MS)
    log.roll(NOW_MS)


def _compact_once(log: Log) -> int:
    """Everything but the last step: the log stays as it is, for the next round."""
    compaction = Compaction.plan(
        log, CLEANER, first_dirty_offset=0, uncleanable_offset=log.log_end_offset, now_ms=NOW_MS
    )
    if compaction is None:
        raise RuntimeError("nothing to compact")
    compaction.run()
    if compaction.next_dirty_offset != log.log_end_offset or compaction.counts.bytes_written >= log.size_bytes:
        raise RuntimeError(f"not compacted: {compaction.counts}")
    compaction.abandon()
    return compaction.counts.bytes_written


def _copy(paths: list[str], target: str, kept_bytes: int) -> None:
    output = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for is_second in (False, True):
        for path in paths:
            source, position = os.open(path, os.O_RDONLY), 0
            while data := os.pread(source, MIB, position):
                position += len(data)
                if is_second and kept_bytes > 0:
                    kept_bytes -= os.write(output, memoryview(data)[:kept_bytes])
            os.close(source)
    os.fsync(output)
    os.close(output)
    os.remove(target)


def offset_map(run: Run) -> list[Row]:
    """How much memory the map of a compaction really takes when it says that it is full."""
    limit_bytes = MAP_BYTES if not run.is_quick else MIB
    tracemalloc.start()
    try:
        offsets = OffsetMap(limit_bytes, CLEANER.io_buffer_load_factor)
        before, _ = tracemalloc.get_traced_memory()
        for number in count(1_000_000):  # above the numbers that CPython has ready-made
            if not offsets.put(b"%016d" % number, number):
                break
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    used = Figure((peak - before) / 1e6, (peak - before) / 1e6)
    return [
        Row(
            what=f"  memory of a full offset map, {len(offsets):,} keys",
            unit="MB",
            ours=used,
            aim=Aim(at_most=limit_bytes / 1e6),
        )
    ]
