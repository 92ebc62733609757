"""Flushing, cut so that the slow part can run in a worker thread (SPEC L9).

`Log.begin_flush` (owner's thread) → `FlushWork.run` (any thread; only syncs) → `Log.end_flush` (owner's thread).

The work holds open `.log` files, whose long-lived descriptors see every write-back error, and the paths of the small
files beside them, which the owner may remap or rename meanwhile: a name that is gone belongs to a deleted segment.
"""

from __future__ import annotations

from strandline.log import names
from strandline.log.filesystem import File, FileSystem, sync_path
from strandline.log.segment import Segment


class FlushWork:
    """Files to sync, and the offset below which everything is durable once they are."""

    __slots__ = ("_directory", "_files", "_filesystem", "_paths", "small_files", "up_to_offset")

    def __init__(
        self,
        filesystem: FileSystem,
        directory: str | None,
        segments: list[Segment],
        paths: list[str],
        up_to_offset: int,
    ) -> None:
        self._filesystem = filesystem
        self._directory = directory  # None when no name in it is new
        self._files: list[File] = [segment.file for segment in segments]
        self._paths = [segment.path(kind) for segment in segments for kind in names.INDEX_SUFFIXES]
        self._paths += paths
        self.small_files = paths
        self.up_to_offset = up_to_offset  # a truncation meanwhile lowers it

    def run(self) -> None:
        """Names last: a durable name whose bytes are not would outlive them as garbage."""
        for file in self._files:
            file.sync()
        for path in self._paths:
            self._sync_if_there(path)
        if self._directory is not None:
            self._sync_directory(self._directory)

    def _sync_directory(self, directory: str) -> None:
        try:
            self._filesystem.sync_directory(directory)
        except FileNotFoundError:
            return  # the partition was removed meanwhile

    def _sync_if_there(self, path: str) -> None:
        try:
            sync_path(self._filesystem, path)
        except FileNotFoundError:
            return
