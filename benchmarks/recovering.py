"""The scan after a crash: every batch of the segment read, its CRC verified, all indexes made anew. File in memory."""

from __future__ import annotations

import os

from benchmarks.batches import MIB, NEARLY_16_KIB, NOW_MS, PARTITION, batch_of_bytes, new_log, records_of
from benchmarks.measure import Aim, Row, interleave, rate, share, timed
from benchmarks.scratch import Run
from strandline.log import names
from strandline.log.filesystem import RealFileSystem
from strandline.log.recovery import open_log
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch


def recover_16k(run: Run) -> list[Row]:
    return _recover(
        run, "recover, 16 KiB batches", batch_of_bytes(NEARLY_16_KIB), run.some(128, 32) * MIB, Aim(at_least=500)
    )


def recover_small(run: Run) -> list[Row]:
    return _recover(
        run, "recover, batches of one 100 B record", build_batch(records_of(1, 100)), run.some(8, 2) * MIB, None
    )


def _recover(run: Run, what: str, batch: bytearray, size_bytes: int, aim: Aim | None) -> list[Row]:
    with run.folder("recover") as folder:
        written_bytes = _fill(f"{folder}/log", batch, size_bytes)
        path = f"{folder}/log/{names.offset_name(0, names.LOG)}"
        ours, bare = interleave(
            run.some(5, 3),
            lambda: timed(lambda: _open(f"{folder}/log")),
            lambda: timed(lambda: _read_through(path)),
        )
    megabytes = written_bytes / 1e6
    return [
        Row(
            what=what,
            unit="MB/s",
            ours=rate(ours, megabytes),
            twin="pread of 1 MiB",
            theirs=rate(bare, megabytes),
            share=share(ours, bare),
            aim=aim,
        )
    ]


def _fill(folder: str, batch: bytearray, size_bytes: int) -> int:
    log = new_log(folder, LogSettings())
    group = [bytearray(batch) for _ in range(max(1, MIB // len(batch)))]
    while log.size_bytes < size_bytes:
        log.append(group, leader_epoch=1, now_ms=NOW_MS)
    log.close(NOW_MS)
    return log.size_bytes


def _open(folder: str) -> None:
    findings: list[str] = []
    open_log(
        RealFileSystem(), folder, PARTITION, LogSettings(), now_ms=NOW_MS, is_clean=False, findings=findings
    )  # never closed: the next round finds it as a crash would leave it
    if findings:
        raise RuntimeError(f"recovery was to find nothing, and found {findings[0]}")


def _read_through(path: str) -> None:
    descriptor, position = os.open(path, os.O_RDONLY), 0
    try:
        while data := os.pread(descriptor, MIB, position):
            position += len(data)
    finally:
        os.close(descriptor)
