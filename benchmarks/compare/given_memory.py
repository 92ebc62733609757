"""Memory that the machine already has, for the next turn.

A virtual machine is given its memory by its host page by page, when a page is first touched, and may have to give back
what lies free for some seconds. Touching a page for the first time costs several times what writing it does (here a
gigabyte of new files took 2.2 CPU s, and 0.7 where its pages had been there a moment before), and the kernel puts it on
the account of whoever does: a turn that fills new files measures the host then. So before each turn, of either side,
some memory is touched and given back to our own kernel, which hands out first what it got last.
"""

from __future__ import annotations

import subprocess
import sys

TOUCHED_BYTES = 2**30  # for each broker that will fill files
KEPT_FREE_BYTES = 2**30


def touch_memory(brokers: int) -> None:
    """In a process of its own, which ends; none where memory is short."""
    touched_bytes = TOUCHED_BYTES * brokers
    if available_bytes() > touched_bytes + KEPT_FREE_BYTES:
        subprocess.run([sys.executable, "-c", f"b'x' * {touched_bytes}"], check=False)


def available_bytes() -> int:
    with open("/proc/meminfo", encoding="ascii") as file:
        found = dict(line.split(":") for line in file)
    return int(found["MemAvailable"].split()[0]) * 1024
