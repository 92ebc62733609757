"""Appending as leader, beside one bare `writev` of the same bytes to a file for each call.

A leader must verify the CRC-32C of what it writes, so a second row shows what `crc32c` and `writev` in a bare loop
reach: no log can do better than that.

Producers fill their batches nearly, never exactly, so writes straddle pages. A row of its own shows batches of exactly
four pages, which the kernel takes in much faster and beside which our own work weighs more.
"""

from __future__ import annotations

import os

from benchmarks.batches import KIB, MIB, NEARLY_1_MIB, NEARLY_16_KIB, NOW_MS, Pool, batch_of_bytes, new_log
from benchmarks.measure import Aim, Row, Timing, interleave, rate, share, timed
from benchmarks.scratch import Run
from strandline.log.log import Log
from strandline.log.log_writer import Appended
from strandline.model.settings import LogSettings
from strandline.records.batch import ATTRIBUTES_POSITION
from strandline.records.crc import crc32c

SETTINGS = LogSettings(segment_bytes=2**30, max_message_bytes=2 * MIB)
LATER_MS = NOW_MS + 30 * 60_000  # the pool's timestamps run ahead, by less than an hour


def append_16k(run: Run) -> list[Row]:
    return _append(run, "append 16 KiB batches", batch_of_bytes(NEARLY_16_KIB), aim=0.6, shows_ceiling=True)


def append_16k_grouped(run: Run) -> list[Row]:
    return _append(run, "append 16 KiB batches, 4 a call", batch_of_bytes(NEARLY_16_KIB), group=4, aim=0.6)


def append_16k_idempotent(run: Run) -> list[Row]:
    return _append(run, "append 16 KiB batches, idempotent", batch_of_bytes(NEARLY_16_KIB, producer_id=7), aim=0.6)


def append_16k_aligned(run: Run) -> list[Row]:
    return _append(run, "append 16 KiB batches, whole pages", batch_of_bytes(16 * KIB), aim=0.6, shows_ceiling=True)


def append_1m(run: Run) -> list[Row]:
    return _append(run, "append 1 MiB batches", batch_of_bytes(NEARLY_1_MIB), aim=0.9, shows_ceiling=True)


def _append(
    run: Run, what: str, batch: bytearray, *, group: int = 1, aim: float, shows_ceiling: bool = False
) -> list[Row]:
    pool = Pool(batch)
    ours: list[Timing] = []
    bare: list[Timing] = []
    verified: list[Timing] = []
    for _ in range(run.some(3, 1)):  # new files each time: 80 MB each at most
        with run.folder("append") as folder:
            found = _interleave(run.some(20, 8), folder, pool, group)
        for timings, new in zip((ours, bare, verified), found, strict=True):
            timings += new
    megabytes = pool.size_bytes / 1e6
    twin = "writev" if group == 1 else f"writev of {group}"
    rows = [
        Row(
            what=what,
            unit="MB/s",
            ours=rate(ours, megabytes),
            twin=twin,
            theirs=rate(bare, megabytes),
            share=share(ours, bare),
            aim=Aim(at_least=aim, of_share=True),
        )
    ]
    if shows_ceiling:
        rows.append(
            Row(
                what=f"  the most it can be: crc32c, then {twin}",
                unit="MB/s",
                ours=rate(verified, megabytes),
                twin=twin,
                theirs=rate(bare, megabytes),
                share=share(verified, bare),
            )
        )
    return rows


def _interleave(rounds: int, folder: str, pool: Pool, group: int) -> list[list[Timing]]:
    log = new_log(f"{folder}/log", SETTINGS)
    calls = pool.grouped(group)
    bare, verified = (os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT) for name in ("bare", "verified"))
    _append_all(log, pool, calls)  # opens the files, and faults in the memory of all three
    _write_all(bare, calls)
    _write_verified(verified, calls)
    try:
        return interleave(
            rounds,
            lambda: _append_all(log, pool, calls),
            lambda: timed(lambda: _write_all(bare, calls)),
            lambda: timed(lambda: _write_verified(verified, calls)),
        )
    finally:
        os.close(bare)
        os.close(verified)


def _append_all(log: Log, pool: Pool, calls: list[list[bytearray]]) -> Timing:
    pool.renew()
    return timed(lambda: _append_calls(log, calls))


def _append_calls(log: Log, calls: list[list[bytearray]]) -> None:
    append = log.append
    for batches in calls:
        outcomes = append(batches, leader_epoch=1, now_ms=LATER_MS)
    if not isinstance(outcomes[-1], Appended) or outcomes[-1].is_duplicate:
        raise RuntimeError(f"a batch was not appended: {outcomes[-1]}")


def _write_all(descriptor: int, calls: list[list[bytearray]]) -> None:
    write = os.writev
    for batches in calls:
        write(descriptor, batches)


def _write_verified(descriptor: int, calls: list[list[bytearray]]) -> None:
    write = os.writev
    for batches in calls:
        for batch in batches:
            crc32c(memoryview(batch)[ATTRIBUTES_POSITION:])
        write(descriptor, batches)
