"""A consumer far behind reads a cold segment: the others go on, and what they read stays in memory (SPEC P5)."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.running_broker import BrokerPeer, batch_of
from tests.cold_pages import drop_all, lives_in_memory

from strandline.log.page_cache import resident_bytes
from strandline.testing import Broker
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic

MIB = 2**20
BATCH_BYTES = MIB // 2
BATCHES = 80
COLD_SEGMENT_BYTES = 32 * MIB
TOPIC = "history"


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """On a file system that can forget pages at all."""
    with tempfile.TemporaryDirectory(dir="/var/tmp" if lives_in_memory(tmp_path) else tmp_path) as folder:
        yield Path(folder)


class Reader(BrokerPeer):
    def fetch(self, offset: int) -> bytes:
        partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=MIB)
        self.tell(FetchRequest(min_bytes=1, max_bytes=MIB, topics=[FetchTopic(TOPIC, partitions=[partition])]), 11)
        records = self.hear(11, FetchResponse).responses[0].partitions[0].records
        assert isinstance(records, bytes | memoryview)
        return bytes(records)


def read_up_to(address: tuple[str, int], end_offset: int, read_bytes: list[int]) -> None:
    with Reader(address) as reader:
        offset = 0
        while offset < end_offset:
            records = reader.fetch(offset)
            read_bytes.append(len(records))
            offset += max(1, len(records) // BATCH_BYTES)


def test_a_cold_catch_up_neither_stops_the_tail_nor_takes_its_memory(data: Path) -> None:
    settings = {"log.segment.bytes": COLD_SEGMENT_BYTES}
    with Broker(settings, process=True, data=data) as broker, Reader(("127.0.0.1", broker.port)) as tail:
        tail.create_topic(TOPIC)
        value = os.urandom(BATCH_BYTES - 100)
        for _ in range(BATCHES):
            tail.produce(TOPIC, batch_of(value))
        cold, active = sorted((data / f"{TOPIC}-0").glob("*.log"))
        cold_end = int(active.stem)
        with cold.open("rb") as cold_file, active.open("rb") as active_file:
            os.fsync(cold_file.fileno())  # only clean pages can be forgotten
            drop_all(cold_file.fileno(), COLD_SEGMENT_BYTES)
            assert resident_bytes(cold_file.fileno(), 0, COLD_SEGMENT_BYTES) == 0
            active_bytes = active.stat().st_size
            assert resident_bytes(active_file.fileno(), 0, active_bytes) == active_bytes
            rounds, read_bytes = follow_tail_while_catching_up(broker, tail, cold_end)
            assert rounds > 3, "the tail went on meanwhile"
            assert sum(read_bytes) >= cold_end * BATCH_BYTES - BATCH_BYTES
            active_bytes = active.stat().st_size
            assert resident_bytes(active_file.fileno(), 0, active_bytes) == active_bytes
            left = resident_bytes(cold_file.fileno(), 0, COLD_SEGMENT_BYTES)
            assert left is not None
            assert left <= 2 * MIB, "of 32 MiB that were read, only the last piece and what the kernel read ahead"


def follow_tail_while_catching_up(broker: Broker, tail: Reader, cold_end: int) -> tuple[int, list[int]]:
    """How often a record was written and read at the tail while somebody else read everything before it."""
    read_bytes: list[int] = []
    behind = threading.Thread(target=read_up_to, args=(("127.0.0.1", broker.port), cold_end, read_bytes))
    behind.start()
    rounds = 0
    while behind.is_alive():
        (produced,) = tail.produce(TOPIC, batch_of(b"new"))
        assert tail.fetch(produced.base_offset)
        rounds += 1
    behind.join()
    return rounds, read_bytes
