"""Every file the log touches, behind one small interface.

`RealFileSystem` is the operating system. `strandline.simulation.disk.SimulatedDisk` is its twin: a page cache over a
durable image that loses any subset of what was not synced, and can fail the next call. Nothing else in `log` may open,
rename or sync a file, so that every crash can be played.

Durability has two halves, as on a real disk: `File.sync` makes the bytes of a file survive, `FileSystem.sync_directory`
makes names survive (creation, rename, removal), and neither does the other's work. `replace_durably` is how a small
file is rewritten: aside, sync, rename, sync the folder. Only what a flush will sync later may use `replace`.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import shutil
import struct
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NamedTuple, Protocol

from strandline.model.failures import CorruptData

Buffer = bytes | bytearray | memoryview

# Five million producers, or the index entries of 100 GiB.
SMALL_FILE_BYTES_MAX = 256 * 2**20
WRITTEN_AGAIN_BYTES = 2**20
ALONE = nullcontext()


class MappedBytes(Protocol):
    """What `mmap.mmap` offers of an index: fixed size, writable in place, a target for `struct.pack_into`."""

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...


class File(Protocol):
    """An open file. Appends go to its end; reads and overwrites name their position."""

    def fileno(self) -> int:
        """The descriptor, for sendfile. A simulated file has none and raises `OSError`."""
        ...

    def size(self) -> int: ...
    def append(self, buffers: Sequence[Buffer]) -> int:
        """Write all of `buffers` at the end in one go; returns the byte count. A short write is an `OSError`."""
        ...

    def read(self, position: int, length: int) -> bytes:
        """Up to `length` bytes; fewer only at the end of the file."""
        ...

    def read_nothing_ahead(self) -> None:
        """From now on a read brings into memory what it asked for and no more."""
        ...

    def write(self, position: int, data: Buffer) -> None: ...
    def truncate(self, size: int) -> None:
        """Cut, or extend with zeros (a sparse hole)."""
        ...

    def reserve(self, position: int, length: int) -> None:
        """Give a hole within the file its place on the disk. A store into a mapped hole of a full disk has no error
        to return: it ends the process (SIGBUS)."""
        ...

    def sync(self) -> None:
        """What was written is on the drive. If that fails, what may be missing there is written again, and not synced.

        Left alone, the kernel would go on to show what is not on the drive, and would take it for written: a later
        sync succeeds (fsyncgate), and a process that was started again would count on what goes with the power.
        """
        ...

    def map(self, length: int) -> MappedBytes:
        """The first `length` bytes, writable and shared with the file. `length` must not exceed its size.

        Unmapped when the last reference goes; drop it before the file changes size (the twin insists).
        """
        ...

    def close(self) -> None: ...


class Space(NamedTuple):
    total_bytes: int
    usable_bytes: int  # by us, which may be less than is free


class FileSystem(Protocol):
    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File: ...
    def exists(self, path: str) -> bool: ...
    def size(self, path: str) -> int: ...
    def names(self, directory: str) -> list[str]:
        """Names in a directory, sorted."""
        ...

    def sizes(self, directory: str) -> dict[str, int]:
        """Regular files of a directory with their sizes, sorted by name."""
        ...

    def is_directory(self, path: str) -> bool: ...
    def make_directories(self, path: str) -> None: ...
    def rename(self, source: str, target: str) -> None:
        """Atomic; replaces `target`."""
        ...

    def remove(self, path: str) -> None: ...
    def remove_tree(self, path: str) -> None: ...
    def sync_directory(self, path: str) -> None: ...
    def modified_ms(self, path: str) -> int: ...
    def space(self, path: str) -> Space:
        """Of the disk that a folder lies on."""
        ...

    def lock(self, path: str) -> File | None:
        """Take an exclusive lock on the file (created if need be); None while another process holds it."""
        ...


class RealFile:
    """The descriptor's own position is kept at the end. Not by O_APPEND: with it Linux appends on pwrite too."""

    __slots__ = ("_cutting", "_descriptor", "_reads_ahead", "path")

    def __init__(self, path: str, descriptor: int, cutting: AbstractContextManager[object] = ALONE) -> None:
        self.path = path
        self._cutting = cutting
        self._descriptor = descriptor
        self._reads_ahead = True
        os.lseek(descriptor, 0, os.SEEK_END)

    def fileno(self) -> int:
        return self._descriptor

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def append(self, buffers: Sequence[Buffer]) -> int:
        written = os.writev(self._descriptor, buffers if len(buffers) <= IOV_MAX else buffers[:IOV_MAX])
        expected = sum(map(len, buffers)) if len(buffers) != 1 else len(buffers[0])
        while written < expected:
            written += self._append_rest(buffers, written)
        return expected

    def _append_rest(self, buffers: Sequence[Buffer], written: int) -> int:
        """What a short write left. The next call says why (disk full), or goes on (more than 1,024 buffers)."""
        rest = []
        for buffer in buffers:
            if written < len(buffer):
                rest.append(memoryview(buffer)[written:])
            written = max(0, written - len(buffer))
        more = os.writev(self._descriptor, rest[:IOV_MAX])
        if more == 0:
            raise OSError(errno.ENOSPC, "write made no progress", self.path)
        return more

    def read(self, position: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, position)

    def read_nothing_ahead(self) -> None:
        if self._reads_ahead:
            self._reads_ahead = False
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_RANDOM)

    def write(self, position: int, data: Buffer) -> None:
        view = memoryview(data)
        try:
            while view:
                count = os.pwrite(self._descriptor, view, position)
                view, position = view[count:], position + count
        finally:
            os.lseek(self._descriptor, 0, os.SEEK_END)

    def truncate(self, size: int) -> None:
        with self._cutting:
            os.ftruncate(self._descriptor, size)
        os.lseek(self._descriptor, size, os.SEEK_SET)

    def reserve(self, position: int, length: int) -> None:
        os.posix_fallocate(self._descriptor, position, length)

    def sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError:
            with suppress(OSError):
                self._write_again()
            raise

    def _write_again(self) -> None:
        """What is in memory: nothing else was not written, and a drive that fails may take minutes for the rest. What
        this thread has read, another must not cut off before it is written: it would be back."""
        position, size_bytes = 0, os.fstat(self._descriptor).st_size
        data = bytearray(WRITTEN_AGAIN_BYTES)
        while position < size_bytes:
            with self._cutting:
                try:
                    count = os.preadv(self._descriptor, [data], position, os.RWF_NOWAIT)
                    os.pwrite(self._descriptor, memoryview(data)[:count], position)
                except BlockingIOError:
                    count = 0
            position += count or mmap.PAGESIZE

    def map(self, length: int) -> mmap.mmap:
        if self._descriptor < 0:  # mmap would take -1 for a request of memory without a file
            raise OSError(errno.EBADF, os.strerror(errno.EBADF), self.path)
        if length <= 0:  # mmap would take 0 for the whole file
            raise ValueError(f"cannot map {length} bytes of {self.path}")
        mapped = mmap.mmap(self._descriptor, length, **MAP_OPTIONS)
        # Or the first touch of a preallocated index reads ahead into its hole: megabytes of zeros, milliseconds.
        mapped.madvise(mmap.MADV_RANDOM)
        return mapped

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        # A removed segment is let go, not closed: whoever still reads from it keeps the descriptor alive.
        self.close()


IOV_MAX = os.sysconf("SC_IOV_MAX")
# A lock of the open file: it meets the locks that a JVM Kafka takes and those of a second opener in this process, and
# does not go when some other descriptor of the file is closed, as a lock of the process would.
WHOLE_FILE = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
# Without this a mapping keeps a descriptor of its own, and a busy broker has thousands of mappings.
MAP_OPTIONS: dict[str, Any] = {"trackfd": False} if sys.version_info >= (3, 13) else {}


class RealFileSystem:
    def __init__(self, cutting: AbstractContextManager[object] = ALONE) -> None:
        """`cutting` is held while a file is made shorter, and while bytes are read to be written where they were: where
        threads sync, it is a lock."""
        self._cutting = cutting

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> RealFile:
        flags = os.O_RDWR if writable else os.O_RDONLY
        # Without O_NONBLOCK a pipe that has the name of one of our files is waited for until somebody writes into it.
        flags |= os.O_CLOEXEC | os.O_NONBLOCK | (os.O_CREAT if create else 0)
        descriptor = os.open(path, flags, 0o644)
        try:
            return self._file(path, descriptor)
        except OSError as error:
            raise OSError(error.errno, "it is a pipe or a device, not a file", path) from None

    def _file(self, path: str, descriptor: int) -> RealFile:
        return RealFile(path, descriptor, self._cutting)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def names(self, directory: str) -> list[str]:
        return sorted(os.listdir(directory))

    def sizes(self, directory: str) -> dict[str, int]:
        found: dict[str, int] = {}
        with os.scandir(directory) as entries:
            for entry in entries:
                try:
                    if entry.is_file():
                        found[entry.name] = entry.stat().st_size
                except OSError as error:
                    # Removed meanwhile by another thread, or a link that leads to itself.
                    if error.errno not in (errno.ENOENT, errno.ELOOP):
                        raise
        return dict(sorted(found.items()))

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def make_directories(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.remove(path)

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path)

    def sync_directory(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def space(self, path: str) -> Space:
        found = os.statvfs(path)
        return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)

    def lock(self, path: str) -> RealFile | None:
        file = self.open(path, create=True)
        try:
            fcntl.fcntl(file.fileno(), fcntl.F_OFD_SETLK, WHOLE_FILE)
        except (BlockingIOError, PermissionError):
            file.close()
            return None
        except OSError:
            file.close()
            raise
        return file


def read_whole(filesystem: FileSystem, path: str) -> bytes:
    """A small file. Not for segments. One so large that nobody can have meant it is `CorruptData`."""
    file = filesystem.open(path, writable=False)
    try:
        size = file.size()
        if size > SMALL_FILE_BYTES_MAX:
            raise CorruptData(f"{size} bytes are more than a file of this kind can have")
        return file.read(0, size)
    finally:
        file.close()


def make_directories_durably(filesystem: FileSystem, path: str) -> None:
    """Every folder on the way that was not there gets a name that survives."""
    missing: list[str] = []
    folder = path.rstrip("/")
    while folder and not filesystem.exists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    filesystem.make_directories(path)
    for folder in missing:
        filesystem.sync_directory(os.path.dirname(folder) or ("/" if path.startswith("/") else "."))


def replace_durably(filesystem: FileSystem, path: str, data: Buffer) -> None:
    """Rewrite a small file so that a crash leaves the old bytes or the new, never a mixture (KAFKA-9892, 15312)."""
    replace(filesystem, path, data, sync=True)
    filesystem.sync_directory(os.path.dirname(path) or ".")


def replace(filesystem: FileSystem, path: str, data: Buffer, *, sync: bool = False) -> None:
    """Rewrite a small file so that a reader sees the old bytes or the new. What a crash leaves is another matter."""
    filesystem.rename(write_aside(filesystem, path, data, sync=sync), path)


def write_aside(filesystem: FileSystem, path: str, data: Buffer, *, sync: bool = False) -> str:
    """The first half of a rewrite; gives the name to rename."""
    aside = path + ".tmp"
    write_whole(filesystem, aside, data, sync=sync)
    return aside


def write_whole(filesystem: FileSystem, path: str, data: Buffer, *, sync: bool = False) -> None:
    """A small file, in place: for names that nobody reads yet."""
    file = filesystem.open(path, create=True)
    try:
        file.truncate(0)
        file.append([data])
        if sync:
            file.sync()
    finally:
        file.close()


def sync_path(filesystem: FileSystem, path: str) -> None:
    file = filesystem.open(path)
    try:
        file.sync()
    finally:
        file.close()
