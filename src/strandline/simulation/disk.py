"""A disk that loses power, fills up, rots and fails: the twin of `strandline.log.filesystem`.

Running programs see the page cache. What survives is another matter: `crash` gives the disk as a machine
finds it after power loss, with any subset of what was never synced (`inode` for bytes, `directory` for
names); `kill` gives it as the next process finds it, with the page cache whole. Both leave this disk as it
is, so one run can be crashed many ways.

Nothing here draws its own random numbers or reads a clock: `crash` is given its `Random`, and times come
from `now_ms`. Paths are absolute or relative to the root, which exists; every other folder must be made.
"""

from __future__ import annotations

import copy
import errno
import os
import posixpath
from collections.abc import Iterator
from functools import lru_cache
from random import Random

from strandline.log.filesystem import Space
from strandline.simulation.directory import Directory, DirectoryTree, EntryChange, Node, Slot, files_under
from strandline.simulation.faults import FaultInjector, PowerLost
from strandline.simulation.inode import SECTOR_BYTES, FileNode
from strandline.simulation.power_loss import Fate, RandomFate, corner_cases
from strandline.simulation.simulated_file import SimulatedFile

__all__ = ["SECTOR_BYTES", "PowerLost", "SimulatedDisk", "SimulatedFile"]

UNBOUNDED_SPACE_BYTES = 2**50
PATHS_REMEMBERED = 4096


class SimulatedDisk(FaultInjector):
    def __init__(self, *, space_bytes_max: int | None = None) -> None:
        super().__init__(space_bytes_max=space_bytes_max)
        self._tree = DirectoryTree(Directory({}, 0))

    # What is left after a crash

    def crash(self, random: Random) -> SimulatedDisk:
        """After power loss: the durable state and an arbitrary, physically possible part of the rest."""
        self.observe_mappings()
        return self._after_power_loss(RandomFate(random))

    def crash_states(self, limit: int) -> Iterator[tuple[str, SimulatedDisk]]:
        """Up to `limit` corner cases of power loss, named: all lost, all kept, prefixes of the names."""
        self.observe_mappings()
        for name, fate in corner_cases(len(self._tree.pending))[:limit]:
            yield name, self._after_power_loss(fate)

    def kill(self) -> SimulatedDisk:
        """After the death of the process: all it wrote is there, as un-synced as before; locks are free."""
        self.observe_mappings()
        return self._with_tree(copy.deepcopy(self._tree))

    def flip_bit(self, path: str, position: int, bit: int) -> None:
        """Bit rot, in the cache and on the platter."""
        self._file_at(path).flip_bit(position, bit)

    def _after_power_loss(self, fate: Fate) -> SimulatedDisk:
        return self._with_tree(self._tree.after_power_loss(fate))

    def _with_tree(self, tree: DirectoryTree) -> SimulatedDisk:
        disk = SimulatedDisk(space_bytes_max=self.space_bytes_max)
        disk.now_ms, disk.when_full = self.now_ms, self.when_full
        disk.used_bytes = sum(node.charged_bytes for node in files_under(tree.root))
        disk._tree = tree
        return disk

    # FileSystem

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> SimulatedFile:
        self.require_power()
        slot = self._slot(path)
        node = slot.directory.entries.get(slot.name)
        if node is None and create:
            self.change("open", path, f"create {path}")
            node = FileNode(bytearray(), self.now_ms)
            self._tree.change(EntryChange(node, None, slot), self.now_ms)
            return SimulatedFile(self, path, node, writable=writable)
        self.look("open", path)
        return SimulatedFile(self, path, self._file_at(path), writable=writable)

    def exists(self, path: str) -> bool:
        self.require_power()
        try:
            self._node_at(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def size(self, path: str) -> int:
        self.require_power()
        node = self._node_at(path)
        return len(node.content) if isinstance(node, FileNode) else 0

    def names(self, directory: str) -> list[str]:
        self.require_power()
        return sorted(self._directory_at(directory).entries)

    def sizes(self, directory: str) -> dict[str, int]:
        self.require_power()
        entries = self._directory_at(directory).entries
        return {name: len(node.content) for name in sorted(entries) if isinstance(node := entries[name], FileNode)}

    def is_directory(self, path: str) -> bool:
        return self.exists(path) and isinstance(self._node_at(path), Directory)

    def make_directories(self, path: str) -> None:
        self.require_power()
        made = "/"
        for part in _parts(path):
            parent, made = self._directory_at(made), posixpath.join(made, part)
            node = parent.entries.get(part)
            if node is None:
                self.change("make_directories", made, f"make directory {made}")
                change = EntryChange(Directory({}, self.now_ms), None, Slot(parent, part))
                self._tree.change(change, self.now_ms)
        if isinstance(self._node_at(path), FileNode):
            raise _error(errno.EEXIST, path)

    def rename(self, source: str, target: str) -> None:
        self.require_power()
        origin, destination, node = self._slot(source), self._slot(target), self._node_at(source)
        replaced = destination.directory.entries.get(destination.name)
        if replaced is node:
            return
        _require_apart(source, target)
        _require_replaceable(node, replaced, target)
        line = f"{source} -> {target}"
        self.change("rename", line, f"rename {line}")
        self._tree.change(EntryChange(node, origin, destination, replaced), self.now_ms)
        self._unlink(replaced)

    def remove(self, path: str) -> None:
        self.require_power()
        node = self._file_at(path)
        self._remove_entry(path, node)

    def remove_tree(self, path: str) -> None:
        """One step for each name, as the operating system has it: a crash may leave half a folder."""
        self.require_power()
        directory = self._directory_at(path)
        for name in sorted(directory.entries):
            child = posixpath.join(path, name)
            if isinstance(directory.entries[name], Directory):
                self.remove_tree(child)
            else:
                self.remove(child)
        self._remove_entry(path, directory)

    def sync_directory(self, path: str) -> None:
        self.require_power()
        directory = self._directory_at(path)
        self.change("sync_directory", path, f"sync directory {path}")
        self._tree.sync(directory)

    def modified_ms(self, path: str) -> int:
        self.require_power()
        return self._node_at(path).modified_ms

    def space(self, path: str) -> Space:
        self.require_power()
        self._directory_at(path)
        total = UNBOUNDED_SPACE_BYTES if self.space_bytes_max is None else self.space_bytes_max
        return Space(total, max(0, total - self.used_bytes))

    def lock(self, path: str) -> SimulatedFile | None:
        file = self.open(path, create=True)
        if file.try_lock():
            return file
        file.close()
        return None

    def _remove_entry(self, path: str, node: Node) -> None:
        self.change("remove", path, f"remove {path}")
        self._tree.change(EntryChange(node, self._slot(path), None), self.now_ms)
        self._unlink(node)

    def _unlink(self, node: Node | None) -> None:
        if isinstance(node, FileNode):
            node.linked = False
            self.release_if_unused(node)

    def _node_at(self, path: str) -> Node:
        return self._node_of(_parts(path), path)

    def _node_of(self, parts: tuple[str, ...], path: str) -> Node:
        node: Node = self._tree.root
        for part in parts:
            if isinstance(node, FileNode):
                raise _error(errno.ENOTDIR, path)
            child = node.entries.get(part)
            if child is None:
                raise _error(errno.ENOENT, path)
            node = child
        return node

    def _directory_at(self, path: str) -> Directory:
        node = self._node_at(path)
        if isinstance(node, FileNode):
            raise _error(errno.ENOTDIR, path)
        return node

    def _file_at(self, path: str) -> FileNode:
        node = self._node_at(path)
        if isinstance(node, Directory):
            raise _error(errno.EISDIR, path)
        return node

    def _slot(self, path: str) -> Slot:
        parts = _parts(path) or ("",)
        parent = self._node_of(parts[:-1], path)
        if isinstance(parent, FileNode):
            raise _error(errno.ENOTDIR, path)
        return Slot(parent, parts[-1])


@lru_cache(PATHS_REMEMBERED)
def _parts(path: str) -> tuple[str, ...]:
    if not path:
        raise _error(errno.ENOENT, path)
    return tuple(part for part in posixpath.normpath("/" + path).split("/") if part)


def _require_apart(source: str, target: str) -> None:
    """Neither may lie inside the other; the two ways have the errors of Linux."""
    source_parts, target_parts = _parts(source), _parts(target)
    if target_parts[: len(source_parts)] == source_parts:
        raise _error(errno.EINVAL, target)
    if source_parts[: len(target_parts)] == target_parts:
        raise _error(errno.ENOTEMPTY, target)


def _require_replaceable(node: Node, replaced: Node | None, target: str) -> None:
    if isinstance(replaced, Directory):
        if isinstance(node, FileNode):
            raise _error(errno.EISDIR, target)
        if replaced.entries:
            raise _error(errno.ENOTEMPTY, target)
    elif replaced is not None and isinstance(node, Directory):
        raise _error(errno.ENOTDIR, target)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
