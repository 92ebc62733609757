"""Memory that the machine already has, for a whole run.

A virtual machine is given its memory by its host page by page, when a page is first touched, and may have to give back
what lies free (free page reporting). Touching a page that is not there costs many times what writing it does (here a
gigabyte took 2.8 CPU s, and 0.2 where its pages had been there before), and the kernel puts it on the account of
whoever does: a turn that fills new files measures the host then. It is large writes that meet such pages, since they
want large free blocks.

So all that is free is touched once, and given back to our own kernel as the gaps of a comb, whose teeth are kept until
the run is over: a page for each 2 MiB, the size from which on kernels report free blocks to their host. The kernel
hands out small blocks before it splits large ones. What it brings together all the same, to have large blocks, is
reported; here that was a fifth of it. A container may be allowed less than the machine has free: there the comb goes
before anything else does, and the run goes on without it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LEFT_ALONE_BYTES = 512 * 2**20  # of what is free: nobody has to make room
TOOTH_EVERY_BYTES = 2**21
COMB = """
import mmap, sys
comb_bytes, tooth_every_bytes = map(int, sys.argv[1:])
with open("/proc/self/oom_score_adj", "w") as file:
    file.write("1000")
memory = mmap.mmap(-1, comb_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for position in range(0, comb_bytes, mmap.PAGESIZE):
    memory[position] = 1
for position in range(0, comb_bytes, tooth_every_bytes):
    memory.madvise(mmap.MADV_DONTNEED, position + mmap.PAGESIZE, tooth_every_bytes - mmap.PAGESIZE)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def given_memory() -> Iterator[None]:
    """None where memory is short."""
    comb_bytes = (free_bytes() - LEFT_ALONE_BYTES) // TOOTH_EVERY_BYTES * TOOTH_EVERY_BYTES
    if comb_bytes <= 0:
        yield
        return
    command = [sys.executable, "-c", COMB, str(comb_bytes), str(TOOTH_EVERY_BYTES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as comb:
        assert comb.stdout is not None
        comb.stdout.readline()
        yield


def free_bytes() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        found = dict(line.split(":") for line in file)
    return int(found["MemFree"].split()[0]) * 1024
