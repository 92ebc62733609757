"""Offsets that hold no record for us although nothing was lost, counted by what took them.

Only heads of batches are looked at. A batch that holds fewer records than offsets, or begins after where the one before
it ended, has been compacted. A control batch is a transaction's marker; an aborted transaction's records are there, and
not shown to a reader of committed data.
"""

from __future__ import annotations

from collections.abc import Iterable

from strandline.records.batch import split_batches
from strandline.records.heads import head_of
from strandline.spark.arrow_decoding import AbortedFilter


class OffsetGaps:
    def __init__(self, from_offset: int, until_offset: int) -> None:
        self._position = from_offset
        self._until = until_offset
        self.compacted = 0
        self.markers = 0
        self.aborted = 0

    def begin_at(self, offset: int) -> None:
        """What lies below is accounted for."""
        self._position = offset

    def count(self, data: memoryview, aborted: Iterable[tuple[int, int]] | None) -> None:
        """What one fetch brought, in order."""
        hidden = None if aborted is None else AbortedFilter(aborted)
        for batch in split_batches(data):
            head = head_of(batch)
            if head.base_offset >= self._until:
                break
            is_hidden = hidden is not None and hidden.hides(head, batch)
            if head.next_offset <= self._position:
                continue
            self.compacted += max(0, head.base_offset - self._position)
            width = head.next_offset - head.base_offset
            whole = head.base_offset >= self._position and head.next_offset <= self._until
            if head.is_control:
                self.markers += width
            elif is_hidden:
                self.aborted += min(head.next_offset, self._until) - max(head.base_offset, self._position)
            elif whole and head.magic >= 2:
                self.compacted += width - head.record_count
            self._position = head.next_offset

    def finish(self) -> None:
        """Nothing more came up to the end."""
        self.compacted += max(0, self._until - self._position)

    def __str__(self) -> str:
        told = (
            (self.compacted, "were taken by compaction"),
            (self.markers, "are markers of transactions"),
            (self.aborted, "belong to aborted transactions"),
        )
        return ", ".join(f"{count} {what}" for count, what in told if count)
