"""What can be made to go wrong on a simulated disk, and the record of what was done to it."""

from __future__ import annotations

import errno
import os
from collections import Counter, deque
from collections.abc import Callable

from strandline.model.lazy_dataclass import dataclass
from strandline.simulation.inode import FileNode

OPERATIONS = (
    "append",
    "make_directories",
    "map",
    "open",
    "read",
    "remove",
    "rename",
    "reserve",
    "sync",
    "sync_directory",
    "truncate",
    "write",
)
RECORDS = ".log"
RENAMING = frozenset({"rename", "remove"})  # of files that count, or did until now; not of those on their way
RESHAPING = RENAMING | {"shorten", "write"}
TRACE_LINES_MAX = 1000


class PowerLost(BaseException):
    """The machine is gone. Not an `Exception`: nothing that handles errors may handle this."""


@dataclass(slots=True)
class Fault:
    operation: str
    error: int
    after: int
    path_contains: str
    when_struck: Callable[[str], object] | None  # with the path

    def matches(self, operation: str, path: str) -> bool:
        return operation == self.operation and self.path_contains in path


class FaultInjector:
    """Asked before every operation. `operations` counts those that change something, syncs among them."""

    def __init__(self, *, space_bytes_max: int | None = None) -> None:
        self.now_ms = 0
        self.operations = 0
        self.reshapes: Counter[str] = Counter()  # by directory: after these, records may be fewer, or others
        self.trace: deque[str] = deque(maxlen=TRACE_LINES_MAX)
        self.faults: list[Fault] = []
        self.power_lost = False
        self.is_watched = False  # by somebody outside the world, to whom no fault happens
        self.space_bytes_max = space_bytes_max
        self.when_full: Callable[[str], object] | None = None  # once, with the path
        self.used_bytes = 0
        self.mapped: list[FileNode] = []
        self._stop_at: int | None = None

    def fail_next(
        self,
        operation: str,
        error: int = errno.EIO,
        after: int = 0,
        path_contains: str = "",
        when_struck: Callable[[str], object] | None = None,
    ) -> None:
        """Once, after `after` matching calls that succeed. What has not fired yet is in `faults`."""
        if operation not in OPERATIONS:
            raise ValueError(f"{operation} is none of {', '.join(OPERATIONS)}")
        self.faults.append(Fault(operation, error, after, path_contains, when_struck))

    def stop_after(self, operations: int) -> None:
        """Lose power once that many more changing operations are done: what comes next raises `PowerLost`."""
        self._stop_at = self.operations + operations

    def let_go(self) -> None:
        """Nobody will look here again: what is left of a dead process may write as it likes."""
        self._stop_at = None
        self.faults.clear()
        self.when_full = None

    def require_power(self) -> None:
        if self.operations == self._stop_at and not self.is_watched:
            self.observe_mappings()
            self.power_lost = True
            raise PowerLost(f"after {self.operations} operations")

    def look(self, operation: str, path: str) -> None:
        """Before an operation that changes nothing."""
        self.require_power()
        if self.faults and not self.is_watched:
            self._fail_if_planned(operation, path)

    def change(self, operation: str, path: str, line: str) -> None:
        """Before an operation that changes something; `line` goes into the trace."""
        self.require_power()
        self.operations += 1
        self.note_reshaping(operation, path)
        self.trace.append(line)
        if self.faults:
            self._fail_if_planned(operation, path)

    def note_reshaping(self, operation: str, path: str) -> None:
        if operation in RESHAPING and RECORDS in path:
            names = path.split(" -> ")
            if operation not in RENAMING or any(name.endswith(RECORDS) for name in names):
                self.reshapes[names[0].rpartition("/")[0]] += 1

    def _fail_if_planned(self, operation: str, path: str) -> None:
        for fault in self.faults:
            if not fault.matches(operation, path):
                continue
            if fault.after == 0:
                self.faults.remove(fault)
                self.trace.append(f"{operation} {path} fails with {errno.errorcode[fault.error]}")
                if fault.when_struck is not None:
                    fault.when_struck(path)
                raise OSError(fault.error, os.strerror(fault.error), path)
            fault.after -= 1

    def observe_mappings(self) -> None:
        """Stores into mappings count up to the power loss; those of a dying program's handlers do not."""
        if self.power_lost:
            return
        for node in self.mapped:
            node.observe_mapping()
        self.mapped = [node for node in self.mapped if node.shadow is not None]

    @property
    def is_bounded(self) -> bool:
        return self.space_bytes_max is not None

    def fill_up(self, room_bytes: int, when_full: Callable[[str], object] | None = None) -> None:
        """All but so many bytes; `when_full` hears of the first file that finds too little room."""
        self.space_bytes_max, self.when_full = self.used_bytes + room_bytes, when_full

    def make_room(self) -> bool:
        was_bounded, self.space_bytes_max, self.when_full = self.is_bounded, None, None
        return was_bounded

    def room_for(self, growth_bytes: int, path: str) -> int:
        if self.space_bytes_max is None:
            return growth_bytes
        room_bytes = min(growth_bytes, max(0, self.space_bytes_max - self.used_bytes))
        if room_bytes < growth_bytes and self.when_full is not None:
            when_full, self.when_full = self.when_full, None
            when_full(path)
        return room_bytes

    def charge(self, node: FileNode, growth_bytes: int) -> None:
        """Written bytes take space; holes made by `truncate` do not, as on a real disk."""
        node.charged_bytes += growth_bytes
        self.used_bytes += growth_bytes

    def release_if_unused(self, node: FileNode) -> None:
        if not node.linked and node.handles == 0:
            self.charge(node, -node.charged_bytes)
