"""A wrong clock and a slow disk for one process, while it runs (process_faults.c).

Time namespaces cannot do it: they move the monotonic clock, and only for processes that are yet to come.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "process_faults.c")
SETTINGS, FELT = struct.Struct("<3q"), struct.Struct("<q")
US = 1_000_000


class NoCompiler(Exception):
    """One sentence."""


def build(directory: str) -> str:
    """The path of the library to preload."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NoCompiler("Wrong clocks and slow disks need a C compiler (cc or gcc), which this machine does not have.")
    path = f"{directory}/process_faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, SOURCE, "-ldl"], check=True)
    return path


class ProcessFaults:
    """Of one process; `environment` is what it must be started with."""

    def __init__(self, library: str, path: str) -> None:
        self.environment = (f"LD_PRELOAD={library}", f"STRANDLINE_FAULTS={path}")
        self._path = path
        with open(path, "wb") as file:
            file.write(SETTINGS.pack(0, 0, 0) + FELT.pack(0))

    def set(self, *, clock_offset_s: float = 0.0, sync_delay_s: float = 0.0, write_delay_s: float = 0.0) -> None:
        """In place: the file is mapped."""
        with open(self._path, "r+b") as file:
            delays_s = (clock_offset_s, sync_delay_s, write_delay_s)
            file.write(SETTINGS.pack(*(round(seconds * US) for seconds in delays_s)))

    def felt(self) -> int:
        """How often the process has met one of them."""
        with open(self._path, "rb") as file:
            file.seek(SETTINGS.size)
            return int(FELT.unpack(file.read(FELT.size))[0])
