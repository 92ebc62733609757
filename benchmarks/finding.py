"""Finding an offset in a long log that is in memory: which file, which byte. No data is copied."""

from __future__ import annotations

import os
import random

from benchmarks.batches import MIB, NOW_MS, new_log, records_of
from benchmarks.measure import Aim, Row, interleave, microseconds, share, timed
from benchmarks.scratch import Run
from strandline.log.log import Log
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch

RECORDS_PER_BATCH = 10
BATCHES_PER_SEGMENT = 40
SETTINGS = LogSettings(segment_index_bytes=4096)  # small, so that a thousand rolls are quick


def find(run: Run) -> list[Row]:
    segment_count = run.some(1000, 100)
    with run.folder("find") as folder:
        log = _long_log(folder, segment_count)
        source = random.Random(1)
        offsets = [source.randrange(log.log_end_offset) for _ in range(run.some(10_000, 1000))]
        first_places = [(found.file.fileno(), found.position) for found in (log.read(each, MIB) for each in offsets)]
        by_offset, bare = interleave(
            run.some(7, 3),
            lambda: timed(lambda: _read_all(log, offsets)),
            lambda: timed(lambda: _pread_all(first_places)),
        )
        last_batch, at_end = interleave(
            run.some(7, 3),
            lambda: timed(lambda: _read_all(log, [log.log_end_offset - 1] * len(offsets))),
            lambda: timed(lambda: _read_all(log, [log.log_end_offset] * len(offsets))),
        )
        log.close(NOW_MS)
    count = len(offsets)
    return [
        Row(
            what=f"find a random offset, {segment_count:,} segments",
            unit="µs",
            ours=microseconds(by_offset, count),
            twin="pread of 4 KiB",
            theirs=microseconds(bare, count),
            share=share(by_offset, bare),
            aim=Aim(at_most=15),
        ),
        Row(what="find the last batch", unit="µs", ours=microseconds(last_batch, count)),
        Row(what="find that there is nothing new", unit="µs", ours=microseconds(at_end, count)),
    ]


def _long_log(folder: str, segment_count: int) -> Log:
    log = new_log(f"{folder}/log", SETTINGS)
    batches = [build_batch(records_of(RECORDS_PER_BATCH, 100)) for _ in range(BATCHES_PER_SEGMENT)]
    for segment in range(segment_count):
        if segment:
            log.roll(NOW_MS)
        log.append(batches, leader_epoch=1, now_ms=NOW_MS)
    return log


def _read_all(log: Log, offsets: list[int]) -> None:
    read = log.read
    for offset in offsets:
        read(offset, MIB)


def _pread_all(places: list[tuple[int, int]]) -> None:
    read = os.pread
    for descriptor, position in places:
        read(descriptor, 4096, position)
