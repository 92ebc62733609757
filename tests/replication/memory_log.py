"""A log as a list, with the real table of epochs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from strandline.log.leader_epochs import LeaderEpochs


class Record(NamedTuple):
    value: str
    epoch: int

    def __str__(self) -> str:
        return f"{self.value}/{self.epoch}"


class MemoryLog:
    def __init__(self) -> None:
        self.log_start_offset = 0
        self.records: list[Record] = []  # from the log start on
        self.epochs = LeaderEpochs()

    @property
    def log_end_offset(self) -> int:
        return self.log_start_offset + len(self.records)

    def append(self, records: Iterable[Record]) -> None:
        for record in records:
            self.epochs.assign(record.epoch, self.log_end_offset)
            self.records.append(record)

    def read(self, offset: int, count: int) -> tuple[Record, ...]:
        first = offset - self.log_start_offset
        return tuple(self.records[first : first + count])

    def truncate_to(self, offset: int) -> None:
        if offset < self.log_start_offset:
            self.truncate_fully_and_start_at(offset)
        del self.records[offset - self.log_start_offset :]
        self.epochs.truncate_from_end(offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        self.records.clear()
        self.epochs.clear()
        self.log_start_offset = offset

    def advance_log_start(self, offset: int) -> None:
        del self.records[: offset - self.log_start_offset]
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)

    def __str__(self) -> str:
        gone = f"(from {self.log_start_offset}) " if self.log_start_offset else ""
        return gone + (" ".join(map(str, self.records)) or "empty")
