"""Batches of exact sizes, and logs to put them into."""

from __future__ import annotations

import random
from struct import Struct

from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import CRC, CRC_POSITION, batch_crc
from strandline.records.builder import build_batch
from strandline.records.record import Record

NOW_MS = 1_700_000_000_000
KIB = 1024
MIB = 1024 * 1024
NEARLY_16_KIB = 16_205  # what a producer makes of 16 values of 1,000 bytes with batch.size=16384
NEARLY_1_MIB = 1_048_213
PARTITION = TopicPartition("benchmark", 0)
TIMESTAMPS = Struct(">qq")
TIMESTAMPS_POSITION = 27
BASE_SEQUENCE = Struct(">i")
BASE_SEQUENCE_POSITION = 53


def records_of(count: int, value_bytes: int, *, key_bytes: int = 0, seed: int = 1) -> list[Record]:
    """Random bytes: nothing that a codec, or a kernel that merges pages, could make smaller."""
    source = random.Random(seed)
    return [
        Record(offset, NOW_MS, source.randbytes(key_bytes) if key_bytes else None, source.randbytes(value_bytes))
        for offset in range(count)
    ]


def batch_of_bytes(size_bytes: int, value_bytes: int = 1000, *, producer_id: int = -1) -> bytearray:
    """One batch of exactly `size_bytes`, its last record stretched to fit."""
    producer = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0} if producer_id >= 0 else {}
    records = records_of(max(1, (size_bytes - 200) // (value_bytes + 12)), value_bytes)
    last = records.pop()
    stretched = value_bytes
    while True:
        batch = build_batch([*records, last._replace(value=bytes(stretched))], **producer)  # type: ignore[arg-type]
        if len(batch) == size_bytes:
            return batch
        stretched += size_bytes - len(batch)


class Pool:
    """Batches that are sent again and again, each time with the sequence and the time that come next.

    4 MiB of them: more than the second-level cache, less than the third, as what has just come from a socket.
    """

    def __init__(self, batch: bytearray, pool_bytes: int = 4 * MIB) -> None:
        self.batches = [bytearray(batch) for _ in range(max(2, pool_bytes // len(batch)))]
        self.size_bytes = len(batch) * len(self.batches)
        self._record_count = int.from_bytes(batch[57:61], "big")
        self._next_sequence = 0
        self._next_timestamp = NOW_MS
        self._has_producer = batch[43] < 0x80

    def renew(self) -> None:
        for batch in self.batches:
            TIMESTAMPS.pack_into(batch, TIMESTAMPS_POSITION, self._next_timestamp, self._next_timestamp)
            self._next_timestamp += 1
            if self._has_producer:
                BASE_SEQUENCE.pack_into(batch, BASE_SEQUENCE_POSITION, self._next_sequence)
                self._next_sequence += self._record_count
            CRC.pack_into(batch, CRC_POSITION, batch_crc(batch))

    def grouped(self, group: int) -> list[list[bytearray]]:
        return [self.batches[start : start + group] for start in range(0, len(self.batches), group)]


def new_log(folder: str, settings: LogSettings) -> Log:
    return open_log(RealFileSystem(), folder, PARTITION, settings, now_ms=NOW_MS, is_clean=True)
