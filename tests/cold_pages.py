"""A file of which nothing is in memory, for tests of those who read from the disk."""

from __future__ import annotations

import time
from pathlib import Path

from strandline.log.page_cache import drop, resident_bytes

MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs")


def lives_in_memory(directory: Path) -> bool:
    """By the longest mount point that holds the directory."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    holding = [mount for mount in mounts if directory.resolve().is_relative_to(mount[1])]
    return max(holding, key=lambda mount: len(mount[1]))[2] in MEMORY_FILE_SYSTEMS


def drop_all(descriptor: int, file_bytes: int, *, timeout_s: float = 10) -> None:
    """Of clean pages. The kernel keeps those that something else on the machine looks at in that moment,
    so it is asked again."""
    deadline_s = time.monotonic() + timeout_s
    drop(descriptor, 0, file_bytes)
    while resident_bytes(descriptor, 0, file_bytes) and time.monotonic() < deadline_s:
        drop(descriptor, 0, file_bytes)
