"""Unlinking, cut out so that it can run in a worker thread: a file system may take its time over a large file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from strandline.log.filesystem import FileSystem
from strandline.log.segment import Segment


class RemovalWork:
    """Segments and partitions' folders that nobody uses any more (SPEC C5)."""

    __slots__ = ("_filesystem", "_folders", "_segments")

    def __init__(self, filesystem: FileSystem, segments: Sequence[Segment], folders: Sequence[str]) -> None:
        self._filesystem = filesystem
        self._segments = segments
        self._folders = folders

    def run(self) -> None:
        """A name that is gone has moved away with its partition's folder, which will be removed as a whole."""
        for segment in self._segments:
            with suppress(FileNotFoundError):
                segment.remove_files()
        for folder in self._folders:
            with suppress(FileNotFoundError):
                self._filesystem.remove_tree(folder)
