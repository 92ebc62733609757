"""What a process holds: memory, and connections. Its open files are not counted: they belong to logs, and there are
more of them with every partition that is written to."""

from __future__ import annotations

import os
from contextlib import suppress

MIB = 2**20


def resident_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_connections(pid: int) -> int:
    """Its sockets, those included at which it listens."""
    return sum(opened.startswith("socket:") for opened in _opened(pid))


def _opened(pid: int) -> list[str]:
    found = []
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed in between
            found.append(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    return found
