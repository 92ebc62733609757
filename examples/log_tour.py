"""A tour of the log: write one through the library, look at it with `strandline log`. Nothing outlives the tour."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import time

from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.log_directory import LogDirectory
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.control import build_marker
from strandline.records.record import Record

SMALL_SEGMENTS = LogSettings(segment_bytes=2000, index_interval_bytes=300, cleanup_policy=("compact",))


def write_a_log(directory: str, now_ms: int) -> None:
    data = LogDirectory.open(RealFileSystem(), directory, lambda _: SMALL_SEGMENTS, now_ms=now_ms)
    log = data.create(TopicPartition("orders", 0), now_ms=now_ms)
    for number, codec in enumerate([Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD] * 4):
        records = [Record(i, now_ms + 1000 * number + i, b"order-%d" % i, b"state %d" % number) for i in range(5)]
        log.append([build_batch(records, codec=codec)], leader_epoch=number // 8, now_ms=now_ms)
    print("An idempotent producer sends a batch, gets no answer, and sends it again:")
    for attempt in ("first", "second"):
        record = Record(0, now_ms, b"payment", b"once")
        batch = build_batch([record], producer_id=7, producer_epoch=0, base_sequence=0)
        print(f"  {attempt}: {log.append([batch], leader_epoch=2, now_ms=now_ms)[0]}")
    abort_a_transaction(log, now_ms)
    data.write_high_watermarks({log.partition: log.log_end_offset})
    data.close(now_ms=now_ms)


def abort_a_transaction(log: Log, now_ms: int) -> None:
    record = Record(0, now_ms, b"refund", b"never")
    batch = build_batch([record], producer_id=7, producer_epoch=0, base_sequence=1, is_transactional=True)
    marker = build_marker(producer_id=7, producer_epoch=0, is_commit=False, coordinator_epoch=0, timestamp=now_ms)
    log.append([batch], leader_epoch=2, now_ms=now_ms)
    log.append([marker], leader_epoch=2, now_ms=now_ms, from_client=False)


def show(directory: str, command: str) -> None:
    print(f"\n$ strandline log {command}", flush=True)
    subprocess.run([sys.executable, "-m", "strandline", "log", *shlex.split(command)], cwd=directory, check=True)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="strandline-tour-") as directory:
        write_a_log(directory, time.time_ns() // 1_000_000)
        for command in (
            "segments orders-0",
            "dump --offsets 98:103 orders-0",
            "find --offset 42 orders-0",
            "epochs orders-0",
            "clean --policy compact orders-0",
            "clean --policy compact --execute orders-0",
            "check .",
        ):
            show(directory, command)
    print("\nNow try it on your own Kafka's data; it only reads:")
    print("  strandline log segments /var/lib/kafka/data        (the path in log.dirs)")
    print("  strandline log --help")


if __name__ == "__main__":
    main()
