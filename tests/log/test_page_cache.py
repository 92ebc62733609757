"""Asked of the real kernel, on a real file."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cold_pages import drop_all, lives_in_memory

from strandline.log import page_cache
from strandline.log.page_cache import PAGE_BYTES, drop, is_resident, resident_bytes, would_block

FILE_BYTES = 64 * PAGE_BYTES + 100


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    """A file with clean pages, which can be dropped, on a file system that can drop pages at all."""
    folder = Path("/var/tmp") if lives_in_memory(tmp_path) else tmp_path
    path = folder / f"strandline-page-cache-{os.getpid()}"
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    path.unlink()
    os.write(opened, os.urandom(FILE_BYTES))
    os.fsync(opened)
    # Read-ahead would bring in more than the tests ask for.
    os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_RANDOM)
    yield opened
    os.close(opened)


@pytest.fixture(params=["whichever", "mincore"])
def asking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once as this kernel lets us, which is `cachestat` from Linux 6.5 on, and once as on older ones."""
    if request.param == "mincore":
        monkeypatch.setattr(page_cache, "pages_by_cachestat", lambda *_: None)


@pytest.mark.usefixtures("asking")
def test_what_was_written_is_resident_until_it_is_dropped(descriptor: int) -> None:
    assert resident_bytes(descriptor, 0, FILE_BYTES) == FILE_BYTES
    assert is_resident(descriptor, 0, FILE_BYTES)
    drop_all(descriptor, FILE_BYTES)
    assert resident_bytes(descriptor, 0, FILE_BYTES) == 0
    assert not is_resident(descriptor, 0, FILE_BYTES)


def test_dropping_nothing_drops_nothing(descriptor: int) -> None:
    drop(descriptor, 0, 0)
    assert resident_bytes(descriptor, 0, FILE_BYTES) == FILE_BYTES


@pytest.mark.usefixtures("asking")
def test_a_read_brings_its_pages_back(descriptor: int) -> None:
    drop_all(descriptor, FILE_BYTES)
    position = 10 * PAGE_BYTES + 50
    os.pread(descriptor, 2 * PAGE_BYTES, position)
    assert resident_bytes(descriptor, position, 2 * PAGE_BYTES) == 2 * PAGE_BYTES
    assert is_resident(descriptor, position, 2 * PAGE_BYTES)
    whole = resident_bytes(descriptor, 0, 64 * PAGE_BYTES)
    assert whole is not None
    assert 3 * PAGE_BYTES <= whole < FILE_BYTES  # it lies across three pages
    assert not is_resident(descriptor, 0, FILE_BYTES)


@pytest.mark.usefixtures("asking")
def test_parts_of_pages_count_as_what_was_asked_for(descriptor: int) -> None:
    for position, length in [(0, 1), (100, 10), (PAGE_BYTES - 1, 2), (64 * PAGE_BYTES, 100)]:
        assert resident_bytes(descriptor, position, length) == length
    drop_all(descriptor, FILE_BYTES)
    os.pread(descriptor, 1, 0)
    assert resident_bytes(descriptor, 0, 10) == 10


@pytest.mark.usefixtures("asking")
def test_a_short_range_is_not_resident_if_one_of_its_two_pages_is_missing(descriptor: int) -> None:
    drop_all(descriptor, FILE_BYTES)
    os.pread(descriptor, 1, 64 * PAGE_BYTES)  # the last page, with nothing after it to read ahead
    assert is_resident(descriptor, 64 * PAGE_BYTES, 50)
    assert resident_bytes(descriptor, 64 * PAGE_BYTES - 50, 100) == 0
    assert not is_resident(descriptor, 64 * PAGE_BYTES - 50, 100)


@pytest.mark.usefixtures("asking")
def test_nothing_is_asked_beyond_the_end(descriptor: int) -> None:
    """A length of 0 would mean "to the end" to the kernel, and mapping nothing is an error."""
    assert resident_bytes(descriptor, 0, 0) == 0
    assert resident_bytes(descriptor, FILE_BYTES, 4096) == 0
    assert resident_bytes(descriptor, FILE_BYTES + PAGE_BYTES, 4096) == 0
    assert resident_bytes(descriptor, FILE_BYTES - 10, 4096) == 10
    assert is_resident(descriptor, FILE_BYTES - 10, 4096)


def test_both_ways_of_asking_agree(descriptor: int) -> None:
    drop_all(descriptor, FILE_BYTES)
    for page in (3, 4, 20, 40, 63):
        os.pread(descriptor, 1, page * PAGE_BYTES)
    for position, length in [
        (0, FILE_BYTES),
        (4 * PAGE_BYTES + 1, 30 * PAGE_BYTES),
        (7, 1),
        (PAGE_BYTES - 1, 2),
    ]:
        counted = page_cache.pages_by_mincore(descriptor, position, length)
        assert page_cache.pages_by_cachestat(descriptor, position, length) in (None, counted)


def test_threads_that_ask_at_the_same_time_hear_their_own_answers(descriptor: int) -> None:
    wrong: list[tuple[int, int | None]] = []

    def ask(pages: int) -> None:
        for _ in range(2_000):
            counted = page_cache.pages_by_cachestat(descriptor, 0, pages * PAGE_BYTES)
            if counted not in (None, pages):
                wrong.append((pages, counted))

    threads = [threading.Thread(target=ask, args=(pages,)) for pages in (1, 20, 64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_kernel_that_tells_nothing_is_not_believed_to_have_said_yes(
    descriptor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_cache, "pages_by_cachestat", lambda *_: None)
    monkeypatch.setattr(page_cache, "pages_by_mincore", lambda *_: None)
    assert resident_bytes(descriptor, 0, 10) is None
    assert not is_resident(descriptor, 0, 10)


def test_a_call_that_the_kernel_lacks_is_told_from_a_mistake(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "CACHESTAT", 100_000)
    assert page_cache.pages_by_cachestat(descriptor, 0, 10) is None
    assert resident_bytes(descriptor, 0, 10) == 10
    monkeypatch.setattr(page_cache, "UNAVAILABLE", ())
    with pytest.raises(OSError, match="not implemented"):
        resident_bytes(descriptor, 0, 10)


def test_reading_blocks_only_on_what_is_not_there(descriptor: int) -> None:
    assert not would_block(descriptor, 0)
    drop_all(descriptor, FILE_BYTES)
    assert would_block(descriptor, 0)
    assert not would_block(descriptor, FILE_BYTES)  # the end of the file is known without the disk
    os.pread(descriptor, 1, 0)
    assert not would_block(descriptor, 0)


def test_ctypes_is_loaded_when_first_needed() -> None:
    program = "import sys, strandline.log.page_cache; sys.exit('ctypes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_what_is_in_memory_is_read_without_waiting_and_what_is_not_is_left_alone(descriptor: int) -> None:
    """SPEC P5: the event loop copies a small slice only where no disk is asked."""
    length = 3 * PAGE_BYTES
    assert bytes(page_cache.read_resident(descriptor, 10, length) or b"") == os.pread(descriptor, length, 10)
    drop_all(descriptor, FILE_BYTES)
    assert page_cache.read_resident(descriptor, 20 * PAGE_BYTES, length) is None
    os.pread(descriptor, 1, 0)  # the first page comes back, the others do not
    assert page_cache.read_resident(descriptor, 10, length) is None


def test_a_range_that_the_file_does_not_have_is_not_read(descriptor: int) -> None:
    assert page_cache.read_resident(descriptor, FILE_BYTES - 10, 11) is None
