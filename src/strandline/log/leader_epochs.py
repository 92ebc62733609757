"""Which leader wrote which part of the log: (leader epoch, offset of its first record), both strictly
increasing.

A follower that comes back asks the leader where its own last epoch ended and cuts its log there (KIP-101):
never at its high watermark, which can be behind what was acknowledged or ahead of what survived. When the
leader never saw that epoch it answers with the largest older one it knows, and the follower asks again
(KIP-279).

Epoch 0 is an epoch like any other (KAFKA-10432); "none" is None here, and -1 in what goes over the wire.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple, Self

from strandline.model.failures import CorruptData, check

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


class LeaderEpoch(NamedTuple):
    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """The answer to OffsetsForLeaderEpoch."""

    epoch: int
    end_offset: int


UNDEFINED = EpochEnd(UNDEFINED_EPOCH, UNDEFINED_OFFSET)


class LeaderEpochs:
    __slots__ = ("_epochs", "_start_offsets")

    def __init__(self) -> None:
        self._epochs: list[int] = []
        self._start_offsets: list[int] = []

    @classmethod
    def from_entries(cls, entries: Iterable[tuple[int, int]]) -> Self:
        epochs = cls()
        for epoch, start_offset in entries:
            epochs._append_stored(epoch, start_offset)
        return epochs

    def _append_stored(self, epoch: int, start_offset: int) -> None:
        if epoch < 0 or start_offset < 0:
            raise CorruptData(f"leader epoch {epoch} at offset {start_offset} has a negative part")
        if self._epochs and (epoch <= self._epochs[-1] or start_offset <= self._start_offsets[-1]):
            raise CorruptData(
                f"leader epoch {epoch} at offset {start_offset} follows epoch {self._epochs[-1]}"
                f" at offset {self._start_offsets[-1]}"
            )
        self._epochs.append(epoch)
        self._start_offsets.append(start_offset)

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Say that `epoch` writes from `start_offset` on. True if that changed anything.

        Entries that contradict the new one go: what they described was never written, or is being overwritten
        (KAFKA-7415: a leader records its epoch when elected, before it has written a record).
        """
        epochs, start_offsets = self._epochs, self._start_offsets
        if epochs and epoch == epochs[-1] and start_offset >= start_offsets[-1]:
            return False
        check(epoch >= 0 and start_offset >= 0, f"leader epoch {epoch} at offset {start_offset} is not negative")
        self._keep_first(min(bisect_left(epochs, epoch), bisect_left(start_offsets, start_offset)))
        epochs.append(epoch)
        start_offsets.append(start_offset)
        return True

    @property
    def latest_epoch(self) -> int | None:
        return self._epochs[-1] if self._epochs else None

    @property
    def previous_epoch(self) -> int | None:
        """The epoch before the latest."""
        return self._epochs[-2] if len(self._epochs) > 1 else None

    def epoch_at(self, offset: int) -> int | None:
        """Who wrote the record at `offset`; None below the first entry."""
        index = bisect_right(self._start_offsets, offset) - 1
        return self._epochs[index] if index >= 0 else None

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """The largest known epoch not above the one asked for, and where it ends.

        An epoch older than all known ones ends where the first known one starts: its data has been deleted,
        and the asker should go on from there. An epoch newer than all known ones is undefined.
        """
        if epoch == UNDEFINED_EPOCH:
            return UNDEFINED
        if epoch == self.latest_epoch:
            return EpochEnd(epoch, log_end_offset)
        next_index = bisect_right(self._epochs, epoch)
        if next_index == len(self._epochs):
            return UNDEFINED
        floor = self._epochs[next_index - 1] if next_index else epoch
        return EpochEnd(floor, self._start_offsets[next_index])

    def truncate_from_end(self, end_offset: int) -> bool:
        """The log now ends at `end_offset`: forget epochs that start there or later."""
        return self._keep_first(bisect_left(self._start_offsets, end_offset))

    def truncate_from_start(self, start_offset: int) -> bool:
        """The log now starts at `start_offset`, and so does the epoch that covers it. Older ones go."""
        covering = bisect_right(self._start_offsets, start_offset) - 1
        if covering < 0 or (covering == 0 and self._start_offsets[0] == start_offset):
            return False
        del self._epochs[:covering], self._start_offsets[:covering]
        self._start_offsets[0] = start_offset
        return True

    def clear(self) -> None:
        self._keep_first(0)

    def entries(self) -> tuple[LeaderEpoch, ...]:
        return tuple(map(LeaderEpoch, self._epochs, self._start_offsets))

    def _keep_first(self, count: int) -> bool:
        if count == len(self._epochs):
            return False
        del self._epochs[count:], self._start_offsets[count:]
        return True
