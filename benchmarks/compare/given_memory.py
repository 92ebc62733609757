"""Memory that the machine already has, for the next turn.

A virtual machine is given its memory by its host page by page, when a page is first touched, and may have to give back
what lies free (free page reporting). Touching a page for the first time costs several times what writing it does (here
a gigabyte of new files took 2.2 CPU s, and 0.7 where its pages had been there a moment before), and the kernel puts it
on the account of whoever does: a turn that fills new files measures the host then.

So for each turn, of either side, some memory is touched and given back to our own kernel, which hands out small blocks
before it splits large ones. It is given back as the gaps of a comb, whose teeth are kept until the turn is over:
between teeth no free block grows to the 2 MiB from which on kernels report blocks to their host.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TOUCHED_BYTES = 2**30  # for each broker that will fill files
KEPT_FREE_BYTES = 2**30
TOOTH_BYTES = 2**20
COMB = """
import mmap, sys
gaps_bytes, tooth_bytes = map(int, sys.argv[1:])
memory = mmap.mmap(-1, 2 * gaps_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for position in range(0, len(memory), mmap.PAGESIZE):
    memory[position] = 1
for position in range(0, len(memory), 2 * tooth_bytes):
    memory.madvise(mmap.MADV_DONTNEED, position, tooth_bytes)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def given_memory(brokers: int) -> Iterator[None]:
    """None where memory is short."""
    gaps_bytes = TOUCHED_BYTES * brokers
    if available_bytes() < 2 * gaps_bytes + KEPT_FREE_BYTES:
        yield
        return
    command = [sys.executable, "-c", COMB, str(gaps_bytes), str(TOOTH_BYTES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as comb:
        assert comb.stdout is not None
        comb.stdout.readline()
        yield


def available_bytes() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        found = dict(line.split(":") for line in file)
    return int(found["MemAvailable"].split()[0]) * 1024
