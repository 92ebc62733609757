"""Our dump and Kafka's, line by line, and our check: on what real brokers have just written (SPEC L11)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.interop.dumps import check_dumps_agree, check_praised, check_sound, partitions_of, strandline_log
from tests.interop.kafka import Kafka
from tests.interop.lives import Life

pytestmark = pytest.mark.interop


# That the brokers did write what the comparison is about.
WRITTEN = (
    *(f"compresscodec: {codec}" for codec in ("none", "gzip", "snappy", "lz4", "zstd")),
    "headerKeys: [trace,codec,none]",
    "keySize: -1",
    "valueSize: -1",
    "endTxnMarker: COMMIT",
    "endTxnMarker: ABORT",
    "count: 0 ",
    "deleteHorizonMs: OptionalLong[",
    "LogAppendTime: ",
    "lastStableOffset: ",
    "currentTxnFirstOffset: OptionalLong",
)


def test_every_partition(kafka: Kafka, life: Life) -> None:
    """Those of the topics, of the offsets and transactions, and KRaft's own log."""
    partitions = partitions_of(life.data)
    assert {"orders-0", "payments-0", "accounts-0", "clicks-0", "stream-0", "__transaction_state-0"} <= set(partitions)
    dumps = [check_dumps_agree(kafka, life.data, each) for each in partitions]
    if not life.is_killed:  # Kafka takes the zeros that it then leaves in an index for entries, and objects
        for dump in dumps:
            check_praised(dump)
    for telling in WRITTEN:
        assert any(telling in dump.stdout for dump in dumps), telling
    kinds = {path.suffix for path in (life.data / "payments-0").iterdir() if path.stat().st_size}
    assert kinds > {".log", ".index", ".timeindex", ".txnindex", ".snapshot"}
    assert min(len(list((life.data / each).glob("*.log"))) for each in ("orders-0", "payments-0", "accounts-0")) > 1


def test_the_check_finds_nothing(life: Life) -> None:
    check_sound(life.data)


def spoil_a_record(folder: Path) -> None:
    path = min(folder.glob("*.log"))
    change(path, path.read_bytes().index(b"paid with"))


def spoil_an_index(folder: Path) -> None:
    change(largest(folder, ".index"), 3)


def spoil_a_time(folder: Path) -> None:
    change(largest(folder, ".timeindex"), 7)


def add_half_a_batch(folder: Path) -> None:
    path = max(folder.glob("*.log"))
    path.write_bytes(path.read_bytes() + min(folder.glob("*.log")).read_bytes()[:70])


def largest(folder: Path, suffix: str) -> Path:
    return max(folder.glob(f"*{suffix}"), key=lambda path: path.stat().st_size)


def change(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("spoil", [spoil_a_record, spoil_an_index, spoil_a_time, add_half_a_batch])
def test_damage(kafka: Kafka, lives: dict[str, Life], tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """Both tools say the same of a damaged file, and our check says that there is a fault."""
    shutil.copytree(lives["stopped"].data / "orders-0", tmp_path / "orders-0")
    sound = check_dumps_agree(kafka, tmp_path, "orders-0")
    spoil(tmp_path / "orders-0")
    damaged = check_dumps_agree(kafka, tmp_path, "orders-0")
    checked = strandline_log(tmp_path, "check", "orders-0")
    assert damaged != sound
    assert (checked.exit_code, checked.stdout.count("orders-0/")) == (1, 1), checked.output
