"""One of those who are compared: where it listens, and what its processes have cost so far."""

from __future__ import annotations

import glob
from dataclasses import dataclass

from benchmarks.compare import processes

OURS = "strandline"
THEIRS = "kafka"


class CompareFailed(Exception):
    """One sentence: what could not be measured, and why."""


@dataclass(frozen=True, slots=True)
class Side:
    name: str  # OURS or THEIRS
    version: str
    bootstrap: str
    pids: tuple[int, ...]
    data: tuple[str, ...]

    @property
    def port(self) -> int:
        return int(self.bootstrap.split(",")[0].rpartition(":")[2])

    def cpu_s(self) -> float:
        return processes.cpu_s(self.pids)

    def resident_bytes(self) -> int:
        return processes.resident_bytes(self.pids)

    def topic_bytes(self, topic: str) -> int:
        """On all disks, indexes included."""
        return processes.disk_bytes(path for folder in self.data for path in glob.glob(f"{folder}/{topic}-*"))
