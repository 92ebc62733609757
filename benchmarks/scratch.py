"""Where the files of a run lie: a folder of its own on a real disk, removed when the run ends."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@dataclass(frozen=True, slots=True)
class Run:
    """What a benchmark gets to know."""

    scratch: str
    is_quick: bool

    def some(self, full: int, quick: int) -> int:
        return quick if self.is_quick else full

    @contextmanager
    def folder(self, name: str) -> Iterator[str]:
        """A new folder; everything in it goes at the end, and with it what the kernel has yet to write."""
        path = f"{self.scratch}/{name}"
        os.makedirs(path)
        try:
            yield path
        finally:
            shutil.rmtree(path)


@contextmanager
def scratch_folder() -> Iterator[str]:
    """In $TMPDIR where it is set, else in the checkout's `data`, which git ignores."""
    parent = os.environ.get("TMPDIR") or os.path.join(CHECKOUT, "data")
    os.makedirs(parent, exist_ok=True)
    path = tempfile.mkdtemp(prefix="bench-", dir=parent)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def file_system_of(path: str) -> str:
    """Its type, by the longest mount point above `path`. A file system in memory makes flush figures worthless."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        points = [line.split()[1:3] for line in mounts]
    above = [point for point in points if os.path.realpath(path).startswith(point[0].rstrip("/") + "/")]
    return max(above, key=lambda point: len(point[0]))[1] if above else "unknown"
