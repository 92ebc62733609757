"""What the controller answers to those who asked for something. `request` is the number that came with the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from strandline.controller.values import ids_text
from strandline.model.failures import ErrorCode
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition


@dataclass(frozen=True, slots=True)
class TopicReply:
    """To CreateTopic, AddPartitions and DeleteTopic."""

    request: int
    topic: str
    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""
    assignment: Mapping[int, tuple[int, ...]] = field(default_factory=dict)  # of all partitions, or of those added

    def __str__(self) -> str:
        placed = ", ".join(f"{index}: {ids_text(self.assignment[index])}" for index in sorted(self.assignment))
        return f"reply #{self.request} topic {self.topic} {_outcome(self.error_code, self.message)}" + (
            f" {{{placed}}}" if placed else ""
        )


class PartitionResult(NamedTuple):
    partition: TopicPartition
    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""

    def __str__(self) -> str:
        return f"{self.partition} {_outcome(self.error_code, self.message)}"


@dataclass(frozen=True, slots=True)
class PartitionsReply:
    """To ElectLeaders and AlterReassignments: one result for each partition, in the order they were asked for."""

    request: int
    results: tuple[PartitionResult, ...]

    def __str__(self) -> str:
        return f"reply #{self.request} {', '.join(map(str, self.results))}"


@dataclass(frozen=True, slots=True)
class ControlledShutdownReply:
    request: int
    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""
    remaining: tuple[TopicPartition, ...] = ()  # what the broker still leads though others could

    def __str__(self) -> str:
        remaining = f" still leads {' '.join(map(str, self.remaining))}" if self.remaining else ""
        return f"reply #{self.request} {_outcome(self.error_code, self.message)}{remaining}"


Reply = TopicReply | PartitionsReply | ControlledShutdownReply


def _outcome(error_code: ErrorCode, message: str) -> str:
    return f"{error_code.name} ({message})" if message else error_code.name
