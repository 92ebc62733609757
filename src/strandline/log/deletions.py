"""Files that are out of the log but not yet off the disk (SPEC C5).

A segment leaves the segment list first, its files are renamed `.deleted`, and they are unlinked `file.delete.delay.ms`
later. A crash in between leaves `.deleted` files, which the next start removes. Two segments with the same base
offset may pass through here (truncate, append, truncate): each removes only names that are still there, and never a
live file.

Whoever uses a file has it open, so that one that goes early harms nobody; one that stays fills the disk. So where the
clock was set back to before a delay began, that delay is over, and nobody waits behind it.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, NamedTuple, TypeVar

from strandline.log import names
from strandline.log.filesystem import FileSystem
from strandline.log.segment import Segment

Leaving = TypeVar("Leaving")


class Delayed(NamedTuple, Generic[Leaving]):
    since_ms: int
    due_ms: int
    what: Leaving

    def is_over(self, now_ms: int) -> bool:
        return not self.since_ms <= now_ms < self.due_ms


def take_over(waiting: deque[Delayed[Leaving]], now_ms: int) -> list[Leaving]:
    """What has waited long enough."""
    taken = []
    while waiting and waiting[0].is_over(now_ms):
        taken.append(waiting.popleft().what)
    return taken


class Deletions:
    __slots__ = ("_filesystem", "due")

    def __init__(self, filesystem: FileSystem) -> None:
        self._filesystem = filesystem
        self.due: deque[Delayed[Segment]] = deque()

    def __len__(self) -> int:
        return len(self.due)

    def schedule(self, segment: Segment, now_ms: int, delay_ms: int) -> None:
        """Rename now and durably, unlink later. The segment must already be out of the segment list."""
        segment.change_suffix(names.DELETED)
        self.due.append(Delayed(now_ms, now_ms + delay_ms, segment))

    def take_due(self, now_ms: int) -> list[Segment]:
        """The caller unlinks it, in whatever thread: nobody else uses it any more."""
        return take_over(self.due, now_ms)

    def remove_due(self, now_ms: int) -> int:
        """Unlink what has waited long enough; returns how many segments went."""
        due = self.take_due(now_ms)
        for segment in due:
            segment.remove_files()
        return len(due)
