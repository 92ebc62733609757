"""What happens to a log now and then: a new segment, a flush, a truncation."""

from __future__ import annotations

import os
from itertools import count

from benchmarks.batches import MIB, NEARLY_16_KIB, NOW_MS, batch_of_bytes, new_log
from benchmarks.measure import Row, Timing, interleave, microseconds, share, timed
from benchmarks.scratch import Run
from strandline.log.log import Log
from strandline.model.settings import LogSettings


def roll(run: Run) -> list[Row]:
    """Two rows, for part of the cost comes later: the new indexes are touched with the second batch."""
    batch = batch_of_bytes(NEARLY_16_KIB)
    seconds_after: list[Timing] = []
    with run.folder("roll") as folder:
        log = new_log(f"{folder}/log", LogSettings())
        os.mkdir(f"{folder}/bare")

        def fill_and_roll() -> Timing:
            _append(log, batch)
            seconds_after.append(timed(lambda: _append(log, batch)))
            return timed(lambda: log.roll(NOW_MS))

        numbers = count()
        ours, bare = interleave(
            run.some(50, 10),
            fill_and_roll,
            lambda: timed(lambda: _create_files(f"{folder}/bare", next(numbers))),
        )
        log.close(NOW_MS)
    return [
        Row(
            what="roll",
            unit="µs",
            ours=microseconds(ours),
            twin="4 files, fsync",
            theirs=microseconds(bare),
            share=share(ours, bare),
        ),
        Row(what="  the second append to a new segment", unit="µs", ours=microseconds(seconds_after)),
    ]


def _create_files(folder: str, number: int) -> None:
    """What a new segment cannot do without: its three files, a snapshot, and the folder's names made durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(descriptor)
    os.close(descriptor)
    for kind in ("log", "index", "timeindex", "snapshot"):
        os.close(os.open(f"{folder}/{number}.{kind}", os.O_RDWR | os.O_CREAT))


def flush(run: Run) -> list[Row]:
    batch = batch_of_bytes(NEARLY_16_KIB)
    with run.folder("flush") as folder:
        log = new_log(f"{folder}/log", LogSettings())
        descriptor = os.open(f"{folder}/bare", os.O_WRONLY | os.O_CREAT)
        _append_and_flush(log, batch)
        ours, bare = interleave(
            run.some(50, 10),
            lambda: timed(lambda: _append_and_flush(log, batch)),
            lambda: timed(lambda: _write_and_sync(descriptor, batch)),
        )
        os.close(descriptor)
        log.close(NOW_MS)
    return [
        Row(
            what="append 16 KiB and flush",
            unit="µs",
            ours=microseconds(ours),
            twin="write, fsync",
            theirs=microseconds(bare),
            share=share(ours, bare),
        )
    ]


def truncate(run: Run) -> list[Row]:
    batch = batch_of_bytes(NEARLY_16_KIB)
    with run.folder("truncate") as folder:
        log = new_log(f"{folder}/log", LogSettings())
        descriptor = os.open(f"{folder}/bare", os.O_RDWR | os.O_CREAT)
        for _ in range(8 * MIB // len(batch)):
            _append(log, batch)
            os.write(descriptor, batch)
        ours, bare = interleave(
            run.some(50, 10), lambda: _truncate(log, batch), lambda: _truncate_bare(descriptor, batch)
        )
        os.close(descriptor)
        log.close(NOW_MS)
    return [
        Row(
            what="truncate the last 16 KiB away",
            unit="µs",
            ours=microseconds(ours),
            twin="ftruncate",
            theirs=microseconds(bare),
            share=share(ours, bare),
        )
    ]


def _append(log: Log, batch: bytearray) -> int:
    log.append([batch], leader_epoch=1, now_ms=NOW_MS)
    return log.log_end_offset


def _append_and_flush(log: Log, batch: bytearray) -> None:
    _append(log, batch)
    log.flush(NOW_MS)


def _write_and_sync(descriptor: int, batch: bytearray) -> None:
    os.write(descriptor, batch)
    os.fsync(descriptor)


def _truncate(log: Log, batch: bytearray) -> Timing:
    end = log.log_end_offset
    _append(log, batch)
    return timed(lambda: log.truncate_to(end, now_ms=NOW_MS))


def _truncate_bare(descriptor: int, batch: bytearray) -> Timing:
    size = os.fstat(descriptor).st_size
    os.pwrite(descriptor, batch, size)
    return timed(lambda: os.ftruncate(descriptor, size))
