"""Opening a data directory after a clean stop, in a process of its own: time, and memory that stays.

Beside it: listing all its folders and asking for the size of each file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.interop.process import die_with_parent

from benchmarks.batches import NOW_MS, new_log, records_of
from benchmarks.measure import Aim, Figure, Row, Timing, interleave, seconds, share, timed
from benchmarks.scratch import CHECKOUT, Run
from strandline.log import checkpoints
from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER, UNKNOWN_BROKER_EPOCH, encode_clean_shutdown
from strandline.log.filesystem import RealFileSystem, replace_durably
from strandline.log.log_directory import LogDirectory
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch

SEGMENTS_PER_PARTITION = 10
SETTINGS = LogSettings()


def opening(run: Run) -> list[Row]:
    partition_count = run.some(1000, 100)
    grown: list[float] = []
    with run.folder("opening") as folder:
        _make_partitions(folder, partition_count)

        def open_all() -> Timing:
            timing, megabytes = _in_new_process(folder)
            grown.append(megabytes)
            return timing

        ours, bare = interleave(run.some(5, 2), open_all, lambda: timed(lambda: _list_all(f"{folder}/data")))
    what = f"{partition_count:,} partitions of {SEGMENTS_PER_PARTITION} segments"
    return [
        Row(
            what=f"open {what}",
            unit="s",
            ours=seconds(ours),
            twin="scandir, stat",
            theirs=seconds(bare),
            share=share(ours, bare),
            aim=Aim(at_most=2),
        ),
        Row(
            what="  memory it takes (RSS)",
            unit="MB",
            ours=Figure(max(grown), max(grown)),
            aim=Aim(at_most=60),
        ),
    ]


def _make_partitions(folder: str, partition_count: int) -> None:
    """One made by the log itself, the others copies of its files."""
    log = new_log(f"{folder}/model", SETTINGS)
    batches = [build_batch(records_of(3, 1000)) for _ in range(3)]
    for segment in range(SEGMENTS_PER_PARTITION):
        if segment:
            log.roll(NOW_MS)
        log.append(batches, leader_epoch=1, now_ms=NOW_MS)
    log.close(NOW_MS)
    files = {name: _bytes_of(f"{folder}/model/{name}") for name in os.listdir(f"{folder}/model")}
    partitions = [TopicPartition("benchmark", number) for number in range(partition_count)]
    for partition in partitions:
        os.makedirs(f"{folder}/data/{partition}")
        for name, data in files.items():
            with open(f"{folder}/data/{partition}/{name}", "wb") as copy:
                copy.write(data)
    checkpoints.write_offsets(
        RealFileSystem(),
        f"{folder}/data/{checkpoints.RECOVERY_POINT_CHECKPOINT}",
        dict.fromkeys(partitions, log.log_end_offset),
    )


def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _list_all(path: str) -> int:
    total = 0
    for folder in os.listdir(path):
        if os.path.isdir(f"{path}/{folder}"):
            with os.scandir(f"{path}/{folder}") as entries:
                total += sum(entry.stat().st_size for entry in entries)
    return total


def _in_new_process(folder: str) -> tuple[Timing, float]:
    replace_durably(
        RealFileSystem(),
        f"{folder}/data/{CLEAN_SHUTDOWN_MARKER}",
        encode_clean_shutdown(UNKNOWN_BROKER_EPOCH),
    )
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.opening", f"{folder}/data"],
        cwd=CHECKOUT,
        check=True,
        capture_output=True,
        text=True,
        preexec_fn=die_with_parent,
    )
    wall_s, cpu_s, megabytes = json.loads(done.stdout)
    return Timing(wall_s, cpu_s), megabytes


def _open_and_tell(path: str) -> None:
    before = _resident_megabytes()
    directories: list[LogDirectory] = []
    timing = timed(
        lambda: directories.append(
            LogDirectory.open(RealFileSystem(), path, lambda _: SETTINGS, now_ms=NOW_MS),
        )
    )
    directory = directories[0]
    if not directory.was_clean or directory.findings or directory.failure or not directory.logs:
        raise RuntimeError(f"not a clean start: {directory.failure or directory.findings[:3]}")
    print(json.dumps([*timing, _resident_megabytes() - before]))
    directory.release()


def _resident_megabytes() -> float:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    _open_and_tell(sys.argv[1])
