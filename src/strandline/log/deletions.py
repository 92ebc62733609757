"""Files that are out of the log but not yet off the disk (SPEC C5).

A segment leaves the segment list first, its files are renamed `.deleted`, and they are unlinked `file.delete.delay.ms`
later. A crash in between leaves `.deleted` files, which the next start removes. Two segments with the same base
offset may pass through here (truncate, append, truncate): each removes only names that are still there, and never a
live file.
"""

from __future__ import annotations

from collections import deque

from strandline.log import names
from strandline.log.filesystem import FileSystem
from strandline.log.segment import Segment


class Deletions:
    __slots__ = ("_filesystem", "due")

    def __init__(self, filesystem: FileSystem) -> None:
        self._filesystem = filesystem
        self.due: deque[tuple[int, Segment]] = deque()  # when, and what

    def __len__(self) -> int:
        return len(self.due)

    def schedule(self, segment: Segment, due_ms: int) -> None:
        """Rename now and durably, unlink later. The segment must already be out of the segment list."""
        segment.change_suffix(names.DELETED)
        self.due.append((due_ms, segment))

    def take_due(self, now_ms: int) -> list[Segment]:
        """What has waited long enough. The caller unlinks it, in whatever thread: nobody else uses it any more."""
        due = []
        while self.due and self.due[0][0] <= now_ms:
            due.append(self.due.popleft()[1])
        return due

    def remove_due(self, now_ms: int) -> int:
        """Unlink what has waited long enough; returns how many segments went."""
        due = self.take_due(now_ms)
        for segment in due:
            segment.remove_files()
        return len(due)
