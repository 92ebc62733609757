"""A small data directory of our own, a running broker, and ways to call the tool that show what it printed where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.commands import Commands

from strandline.cli.main import cli
from strandline.log.filesystem import RealFileSystem
from strandline.log.log_directory import LogDirectory
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.builder import build_batch
from strandline.records.compression import Codec
from strandline.records.control import build_marker
from strandline.records.record import Record
from strandline.testing import Broker

START_MS = 1_700_000_000_000
ORDERS = TopicPartition("orders", 0)
SETTINGS = LogSettings(segment_bytes=1500, index_interval_bytes=200, segment_index_bytes=480)
CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]

RunTool = Callable[..., Result]


@pytest.fixture
def tool() -> RunTool:
    def run(*arguments: str | Path) -> Result:
        result = CliRunner().invoke(cli, ["log", *map(str, arguments)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    """Against a broker that all tests of a process share, each with topics and groups of its own."""
    with Broker(process=True, group_initial_rebalance_delay_ms=0, offsets_topic_num_partitions=3) as broker:
        yield Commands(broker.bootstrap)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name for each test."""
    return "".join(letter if letter.isalnum() else "-" for letter in request.node.name)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three segments, leader epochs 0 to 2, a retry, an aborted transaction; stopped cleanly."""
    directory = LogDirectory.open(RealFileSystem(), str(tmp_path / "data"), lambda _: SETTINGS, now_ms=START_MS)
    log = directory.create(ORDERS, now_ms=START_MS)
    for number in range(20):
        records = [
            Record(i, START_MS + 1000 * number + i, b"order-%d" % i, b"state %d" % number, (("number", b"%d" % i),))
            for i in range(4)
        ]
        codec = CODECS[number % len(CODECS)]
        log.append([build_batch(records, codec=codec)], leader_epoch=number // 7, now_ms=START_MS)
    for sequence, is_transactional in ((0, False), (0, False), (1, True)):
        batch = build_batch(
            [Record(0, START_MS + 30_000, b"\xff\xfe", None)],
            producer_id=7,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
        log.append([batch], leader_epoch=2, now_ms=START_MS)
    marker = build_marker(
        producer_id=7, producer_epoch=0, is_commit=False, coordinator_epoch=3, timestamp=START_MS + 31_000
    )
    log.append([marker], leader_epoch=2, now_ms=START_MS, from_client=False)
    directory.write_high_watermarks({ORDERS: log.log_end_offset})
    directory.close(now_ms=START_MS)
    return tmp_path / "data"


@pytest.fixture
def folder(data: Path) -> Path:
    return data / "orders-0"


@pytest.fixture
def logs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))
