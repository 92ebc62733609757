"""What processes cost: CPU time, memory, and bytes on the disk."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

# Of another process, from Linux's own numbering of clocks: the process, and the sum of what its threads have run.
CLOCK_OF_PROCESS = 2


def cpu_s(pids: Iterable[int]) -> float:
    """Of these and their living descendants. It counts threads that have ended, and knows nanoseconds."""
    return sum(time.clock_gettime((~pid << 3) | CLOCK_OF_PROCESS) for pid in _with_descendants(pids))


def resident_bytes(pids: Iterable[int]) -> int:
    pages = 0
    for pid in _with_descendants(pids):
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            pages += int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def disk_bytes(folders: Iterable[str]) -> int:
    """What the disk has given, not what a file with holes says of itself."""
    total = 0
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                try:
                    total += os.stat(f"{parent}/{name}").st_blocks * 512
                except FileNotFoundError:
                    continue  # brokers delete while we look
    return total


def _with_descendants(pids: Iterable[int]) -> list[int]:
    found = list(pids)
    for pid in found:  # which grows on the way
        for task in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                    found += map(int, file.read().split())
            except OSError:
                continue  # a thread that has just ended, or a kernel without this file
    return found
