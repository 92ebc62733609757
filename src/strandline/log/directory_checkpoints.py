"""The four checkpoints of a data directory, written by its owner or, from a snapshot, by another thread (SPEC L8).

A checkpoint is rewritten every few seconds and synced each time, for which the owner's thread must not wait:

    work = checkpoints.begin(name, offsets)     the owner's thread; None if that is what was written last
    work.run()                                  any thread

Before a log shrinks, its owner writes what it will still hold, and waits for it. A snapshot from before that must not
be written after it: it would promise bytes that are gone. So only the latest offsets that the owner gave are ever
written, and the writers of a directory take turns. `turn` is where a process with threads puts its lock.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext

from strandline.log import checkpoints
from strandline.log.filesystem import FileSystem
from strandline.model.partitions import TopicPartition

Offsets = Mapping[TopicPartition, int]


class DirectoryCheckpoints:
    __slots__ = ("_filesystem", "_latest", "_path", "_written", "turn")

    def __init__(self, filesystem: FileSystem, path: str) -> None:
        self._filesystem = filesystem
        self._path = path
        self.turn: AbstractContextManager[object] = nullcontext()
        self._latest: dict[str, Offsets] = {}
        self._written: dict[str, Offsets] = {}  # what is on the disk, of those that were given

    def read(self, name: str) -> dict[TopicPartition, int]:
        """Raises `CorruptData`. Empty where there is none."""
        return checkpoints.read_offsets(self._filesystem, f"{self._path}/{name}")

    def write(self, name: str, offsets: Offsets) -> None:
        self._latest[name] = offsets
        self.write_if_latest(name, offsets)

    def without(self, name: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int] | None:
        """What was last given, or else read, without these; None if it is on the disk and promises nothing of them: no
        offset, or 0. Of what still waits to be written, nobody knows what it is written over."""
        known = self._latest[name] if name in self._latest else self.read(name)
        is_written = self._written.get(name) is self._latest.get(name)
        if is_written and not any(known.get(partition) for partition in partitions):
            return None
        return {partition: offset for partition, offset in known.items() if partition not in partitions}

    def begin(self, name: str, offsets: Offsets) -> CheckpointWork | None:
        """The caller changes `offsets` no more."""
        if self._latest.get(name) == offsets:
            return None
        self._latest[name] = offsets
        return CheckpointWork(self, name, offsets)

    def write_if_latest(self, name: str, offsets: Offsets) -> None:
        with self.turn:
            if self._latest[name] is offsets:
                checkpoints.write_offsets(self._filesystem, f"{self._path}/{name}", offsets)
                self._written[name] = offsets


class CheckpointWork:
    """A write that waits to be done. `OSError` means that the directory has failed."""

    __slots__ = ("_checkpoints", "_name", "_offsets")

    def __init__(self, owner: DirectoryCheckpoints, name: str, offsets: Offsets) -> None:
        self._checkpoints = owner
        self._name = name
        self._offsets = offsets

    def run(self) -> None:
        self._checkpoints.write_if_latest(self._name, self._offsets)
