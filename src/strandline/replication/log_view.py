"""What replication sees of a log: three numbers and a table of epochs. It only looks.

`log.Log` has all of this, but `log` and `replication` do not know each other; `broker.partition` joins them.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

UNKNOWN_OFFSET = -1
NO_EPOCH = -1


class EpochEnd(NamedTuple):
    """Where an epoch ended in somebody's log: the offset after its last record."""

    epoch: int
    end_offset: int

    @property
    def is_undefined(self) -> bool:
        return self.epoch == NO_EPOCH or self.end_offset == UNKNOWN_OFFSET

    def __str__(self) -> str:
        return "an unknown epoch" if self.is_undefined else f"epoch {self.epoch} ending at {self.end_offset}"


class EpochTable(Protocol):
    """(leader epoch, offset of its first record), both strictly increasing."""

    @property
    def latest_epoch(self) -> int | None: ...

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch not above `epoch`, and where it ends; (-1, -1) where none can be told."""


class LogView(Protocol):
    @property
    def log_start_offset(self) -> int: ...

    @property
    def log_end_offset(self) -> int: ...

    @property
    def epochs(self) -> EpochTable: ...


def last_epoch_of(log: LogView) -> int:
    """The epoch of the last record, or of an election since; 0 is an epoch like any other (KAFKA-10432)."""
    latest_epoch = log.epochs.latest_epoch
    return NO_EPOCH if latest_epoch is None else latest_epoch
