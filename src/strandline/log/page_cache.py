"""Which bytes of a file are in memory, so that the event loop sends only those and a thread reads the others.

`cachestat` (Linux 6.5) tells it without touching the pages. Older kernels and sandboxes that forbid it leave
`mincore`, which wants the range mapped for the moment. Both count whole pages, and both say how things stood:
the kernel may drop a page right after.

Every slice that is sent is asked about first, so a question allocates nothing: the memory from which the kernel reads
it, and into which it answers, is used again, by one thread at a time.
"""

from __future__ import annotations

import errno
import mmap
import os
from functools import cache
from typing import Any

CACHESTAT = 451  # the same number on every architecture but Alpha
UNAVAILABLE = (errno.ENOSYS, errno.EPERM, errno.EOPNOTSUPP)
PAGE_BYTES = mmap.PAGESIZE


def resident_bytes(descriptor: int, position: int, length: int) -> int | None:
    """How much of a range is in memory at least: a page that is not counts in full, though the range may hold
    a part of it only. Nothing lies beyond the end of the file. None where the kernel does not tell."""
    length = _length_inside(descriptor, position, length)
    if length == 0:
        return 0
    pages = pages_by_cachestat(descriptor, position, length)
    if pages is None:
        pages = pages_by_mincore(descriptor, position, length)
    if pages is None:
        return None
    return max(0, length - (_pages_spanned(position, length) - pages) * PAGE_BYTES)


def is_resident(descriptor: int, position: int, length: int) -> bool:
    """False also where the kernel does not tell.

    A kernel that lets others run while it counts (6.18 for one) may leave out some pages, so it is asked again.
    """
    pages = (position + length - 1) // PAGE_BYTES - position // PAGE_BYTES + 1
    if length > 0 and (
        pages_by_cachestat(descriptor, position, length) == pages
        or pages_by_cachestat(descriptor, position, length) == pages
    ):
        return True  # nearly always, and one system call instead of three
    return resident_bytes(descriptor, position, length) == _length_inside(descriptor, position, length)


def would_block(descriptor: int, position: int) -> bool:
    """Whether reading a byte would wait for the disk. Asking also makes the kernel begin to fetch it."""
    try:
        os.preadv(descriptor, [bytearray(1)], position, os.RWF_NOWAIT)
    except BlockingIOError:
        return True
    except OSError as failure:
        if failure.errno != errno.EOPNOTSUPP:  # a file system in memory
            raise
    return False


def read_resident(descriptor: int, position: int, length: int) -> bytearray | None:
    """The bytes, if all of them are in memory; None also where the kernel cannot read without waiting, or cannot read:
    whoever then sends from the file will meet it."""
    data = bytearray(length)
    try:
        count = os.preadv(descriptor, [data], position, os.RWF_NOWAIT)
    except OSError:
        return None
    return data if count == length else None


def drop(descriptor: int, position: int, length: int) -> None:
    """Let the kernel forget a range. Only pages that are clean and wholly inside it go."""
    if length > 0:  # 0 would be all the rest of the file
        os.posix_fadvise(descriptor, position, length, os.POSIX_FADV_DONTNEED)


def pages_by_cachestat(descriptor: int, position: int, length: int) -> int | None:
    """How many of the pages that hold the range are in memory."""
    try:
        question = spare_questions.pop()
    except IndexError:  # the first one, or one for each thread that asks at the same time
        question = Question()
    asked, counts = question.asked, question.counts
    asked[0], asked[1] = position, length
    done = question.system_call(CACHESTAT, descriptor, asked, counts, 0)
    pages: int = counts[0]
    spare_questions.append(question)
    return pages if done == 0 or _has_worked(done, question.ctypes) else None


def pages_by_mincore(descriptor: int, position: int, length: int) -> int | None:
    """As `pages_by_cachestat`. Of a file that this user may not write, the kernel says that all of it is."""
    ctypes, library = _c_library()
    start = position - position % PAGE_BYTES
    flags = (ctypes.c_ubyte * _pages_spanned(position, length))()
    # Copy-on-write because ctypes gives the address of writable memory only. Nothing is written.
    with mmap.mmap(descriptor, position + length - start, access=mmap.ACCESS_COPY, offset=start) as mapped:
        first_byte = ctypes.c_char.from_buffer(mapped)
        address = ctypes.c_void_p(ctypes.addressof(first_byte))
        done = library.mincore(address, ctypes.c_size_t(len(mapped)), flags)
        del first_byte  # a mapping that lends its memory cannot be closed
    return sum(flag & 1 for flag in flags) if _has_worked(done, ctypes) else None


def _length_inside(descriptor: int, position: int, length: int) -> int:
    return max(0, min(length, os.fstat(descriptor).st_size - position))


def _pages_spanned(position: int, length: int) -> int:
    return (position + length - 1) // PAGE_BYTES - position // PAGE_BYTES + 1


class Question:
    """What it takes to ask `cachestat`."""

    __slots__ = ("asked", "counts", "ctypes", "system_call")

    def __init__(self) -> None:
        self.ctypes, _ = _c_library()
        # It waits for nothing. To let other threads run meanwhile would be to wait for them.
        self.system_call = self.ctypes.PyDLL(None, use_errno=True).syscall
        self.asked = (self.ctypes.c_uint64 * 2)()  # position, length
        self.counts = (self.ctypes.c_uint64 * 5)()  # cached, dirty, in writeback, evicted, recently evicted


spare_questions: list[Question] = []


@cache
def _c_library() -> tuple[Any, Any]:
    import ctypes  # late: a cost to every start of every command, for a question that few of them ask

    return ctypes, ctypes.CDLL(None, use_errno=True)


def _has_worked(result: int, ctypes: Any) -> bool:
    if result == 0:
        return True
    number = ctypes.get_errno()
    if number not in UNAVAILABLE:
        raise OSError(number, os.strerror(number))
    return False
