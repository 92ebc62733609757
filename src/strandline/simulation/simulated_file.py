"""An open file of a simulated disk, with the answers and the errors of an operating system's descriptor."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from strandline.log.filesystem import Buffer
from strandline.simulation.faults import FaultInjector
from strandline.simulation.inode import FileNode


class SimulatedFile:
    """Appends go to where this handle last saw the end, as the position of a descriptor does."""

    __slots__ = ("_append_position", "_closed", "_disk", "_holds_lock", "_node", "_writable", "path")

    def __init__(self, disk: FaultInjector, path: str, node: FileNode, *, writable: bool) -> None:
        self.path = path
        self._disk = disk
        self._node = node
        self._writable = writable
        self._append_position = len(node.content)
        self._holds_lock = False
        self._closed = False
        node.handles += 1

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "a simulated file has no descriptor", self.path)

    def size(self) -> int:
        self._disk.require_power()
        self._require(not self._closed, errno.EBADF)
        return len(self._node.content)

    def append(self, buffers: Sequence[Buffer]) -> int:
        self._require(self._writable and not self._closed, errno.EBADF)
        data = b"".join(buffers)
        self._disk.change("append", self.path, f"append {self.path} +{len(data)}")
        self._append_position += self._store(self._append_position, data)
        return len(data)

    def write(self, position: int, data: Buffer) -> None:
        self._require(self._writable and not self._closed, errno.EBADF)
        self._require(position >= 0, errno.EINVAL)
        self._disk.change("write", self.path, f"write {self.path} @{position} +{len(data)}")
        self._store(position, data)
        self._append_position = len(self._node.content)

    def _store(self, position: int, data: Buffer) -> int:
        """On a full disk the first part lands before the error comes, as `write(2)` does."""
        node, disk = self._node, self._disk
        growth = max(0, position + len(data) - len(node.content))
        room = disk.room_for(growth, self.path)
        landing = len(data) - (growth - room)
        if landing > 0:
            node.write(position, data if landing == len(data) else data[:landing])
            node.modified_ms = disk.now_ms
            disk.charge(node, room)
        if room < growth:
            self._append_position = max(self._append_position, len(node.content))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        return len(data)

    def read_nothing_ahead(self) -> None:
        """It never does."""

    def read(self, position: int, length: int) -> bytes:
        self._require(not self._closed, errno.EBADF)
        self._require(position >= 0 and length >= 0, errno.EINVAL)
        self._disk.look("read", self.path)
        return bytes(memoryview(self._node.content)[position : position + length])

    def truncate(self, size: int) -> None:
        self._require(not self._closed, errno.EBADF)
        self._require(self._writable and size >= 0, errno.EINVAL)
        self._disk.change("truncate", self.path, f"truncate {self.path} to {size}")
        if size < len(self._node.content):
            self._disk.note_reshaping("shorten", self.path)
        self._node.resize(size)
        self._node.modified_ms = self._disk.now_ms
        self._disk.charge(self._node, min(0, size - self._node.charged_bytes))
        self._append_position = size

    def reserve(self, position: int, length: int) -> None:
        self._require(not self._closed, errno.EBADF)
        self._require(position >= 0 and length > 0, errno.EINVAL)
        self._disk.look("reserve", self.path)
        growth = max(0, position + length - self._node.charged_bytes)
        self._require(self._disk.room_for(growth, self.path) == growth, errno.ENOSPC)
        self._disk.charge(self._node, growth)

    def sync(self) -> None:
        self._require(not self._closed, errno.EBADF)
        try:
            self._disk.change("sync", self.path, f"sync {self.path}")
        except OSError:
            self._node.fail_sync()
            self._node.write_again()
            raise
        self._node.sync()

    def map(self, length: int) -> memoryview:
        """Stays valid after `close`, and while it is alive the file cannot change size (`BufferError`)."""
        self._require(not self._closed, errno.EBADF)
        self._disk.look("map", self.path)
        self._require(self._writable, errno.EACCES)
        size = len(self._node.content)
        if not 0 < length <= size:
            raise ValueError(f"cannot map {length} bytes of {self.path}, which has {size}")
        if self._node.shadow is None:
            self._disk.mapped.append(self._node)
        return self._node.map(length)

    def try_lock(self) -> bool:
        if self._node.locked:
            return False
        self._node.locked = self._holds_lock = True
        return True

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._holds_lock:
            self._node.locked = False
        self._node.handles -= 1
        self._disk.release_if_unused(self._node)

    def _require(self, condition: bool, error: int) -> None:
        if not condition:
            raise OSError(error, os.strerror(error), self.path)
