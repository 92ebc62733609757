"""What a thread reads for one goes from memory again, what others had there stays (SPEC P5). On a real disk."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cold_pages import drop_all, lives_in_memory

from strandline.broker.cold_read import COLD_BYTES_MAX, ColdRead, FileCutShort
from strandline.log.filesystem import RealFile, RealFileSystem
from strandline.log.log_slice import LogSlice
from strandline.log.page_cache import PAGE_BYTES, drop, is_resident, resident_bytes

FILE_BYTES = 12 * COLD_BYTES_MAX
CONTENT = random.Random(1).randbytes(FILE_BYTES)
ODD = 12_345  # batches do not begin where pages do


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RealFile]:
    """Clean, and not in memory, on a file system that can forget pages at all."""
    with tempfile.TemporaryDirectory(dir="/var/tmp" if lives_in_memory(tmp_path) else tmp_path) as folder:
        opened = RealFileSystem().open(f"{folder}/log", create=True)
        opened.append([CONTENT])
        opened.sync()
        opened.read_nothing_ahead()
        drop_all(opened.fileno(), FILE_BYTES)
        yield opened
        opened.close()


def read_cold(wanted: LogSlice, left: LogSlice | None = None) -> LogSlice | None:
    """All of it, piece by piece, as an outbox has it done; gives what is left."""
    file, position, length = wanted
    while length:
        work = ColdRead(LogSlice(file, position, length), left)
        data = work.run()
        assert data == CONTENT[position : position + len(data)]
        position, length, left = position + len(data), length - len(data), work.left
    return left


def bytes_in_memory(file: RealFile) -> int:
    counted = resident_bytes(file.fileno(), 0, FILE_BYTES)
    assert counted is not None
    return counted


def test_only_the_last_piece_stays_and_goes_with_the_next_slice(file: RealFile) -> None:
    left: LogSlice | None = None
    for number in range(3):
        left = read_cold(LogSlice(file, ODD + number * 3 * COLD_BYTES_MAX, 3 * COLD_BYTES_MAX), left)
        assert left == LogSlice(file, ODD + (3 * number + 2) * COLD_BYTES_MAX, COLD_BYTES_MAX)
        assert is_resident(file.fileno(), left.position, left.length)
        assert bytes_in_memory(file) <= COLD_BYTES_MAX + 4 * PAGE_BYTES


def test_what_was_in_memory_stays_there_also_where_a_page_beside_it_was_missing(file: RealFile) -> None:
    file.read(0, 8 * COLD_BYTES_MAX)
    drop(file.fileno(), 4 * COLD_BYTES_MAX, PAGE_BYTES)
    left = None
    for _ in range(5):  # each reader would find more missing than the one before
        left = read_cold(LogSlice(file, 2 * COLD_BYTES_MAX, 4 * COLD_BYTES_MAX), left)
    assert bytes_in_memory(file) >= 7 * COLD_BYTES_MAX


def test_what_was_left_of_another_file_goes(file: RealFile) -> None:
    other = RealFileSystem().open(file.path)
    try:
        left = read_cold(LogSlice(file, ODD, COLD_BYTES_MAX))
        assert left is not None
        read_cold(LogSlice(other, ODD + 6 * COLD_BYTES_MAX, COLD_BYTES_MAX), left)
        assert not is_resident(file.fileno(), left.position, left.length)
    finally:
        other.close()


def test_a_file_that_ends_too_early(file: RealFile) -> None:
    with pytest.raises(FileCutShort, match="20 bytes at"):
        ColdRead(LogSlice(file, FILE_BYTES - 10, 20), None).run()
