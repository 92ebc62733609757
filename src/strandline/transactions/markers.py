"""Transaction markers: what is sent to the partitions of a prepared transaction, and what is left to send.

A marker is tried until it is written, however long that takes: the outcome is decided and readers wait for it. But
never is a second one under way to a partition while the fate of the first is unknown: it could arrive after the next
transaction of its producer has begun there, and end it (with transaction versions below 2; from 2 on the partition
tells them apart by their epoch).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from strandline.model.failures import ErrorCode
from strandline.model.lazy_dataclass import dataclass
from strandline.model.partitions import TopicPartition
from strandline.model.text import OneLine

MARKER_RETRY_MS = 100
MARKER_RETRY_MAX_MS = 10_000

# INVALID_PRODUCER_EPOCH: the partition knows a newer epoch of the producer, and so has had this marker already, or
# never had records of this transaction. UNSUPPORTED_FOR_MESSAGE_FORMAT: a topic of the old formats, which cannot have
# had any.
DONE = frozenset({ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT})


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker(OneLine):
    """`number` tells this sending from others; the result must have it."""

    transactional_id: str
    number: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    transaction_version: int = 0  # 2: the epoch is above that of the transaction's records (KIP-1228)
    partitions: tuple[TopicPartition, ...]

    def all_partitions(self, error_code: ErrorCode) -> MarkersWritten:
        """The result where one answer holds for all, such as a broken connection."""
        return self.written((partition, error_code) for partition in self.partitions)

    def written(self, results: Iterable[tuple[TopicPartition, ErrorCode]]) -> MarkersWritten:
        return MarkersWritten(
            transactional_id=self.transactional_id,
            coordinator_epoch=self.coordinator_epoch,
            number=self.number,
            results=tuple(results),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkersWritten(OneLine):
    """What became of a marker in some of its partitions."""

    transactional_id: str
    coordinator_epoch: int
    number: int
    results: tuple[tuple[TopicPartition, ErrorCode], ...]


class Completion:
    """What a prepared transaction waits for. Dies with the coordinator; the next one sends everything again."""

    __slots__ = ("_retry_ms", "in_flight", "unsent")

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self.unsent = set(partitions)
        self.in_flight: dict[TopicPartition, int] = {}  # with the number of its marker
        self._retry_ms = MARKER_RETRY_MS

    @property
    def is_done(self) -> bool:
        return not self.unsent and not self.in_flight

    @property
    def waiting(self) -> tuple[TopicPartition, ...]:
        return tuple(sorted({*self.unsent, *self.in_flight}))

    def send(self, number: int) -> tuple[TopicPartition, ...]:
        """The partitions to send to now."""
        partitions = tuple(sorted(self.unsent))
        self.in_flight |= dict.fromkeys(partitions, number)
        self.unsent.clear()
        return partitions

    def heard(self, partition: TopicPartition, number: int, error_code: ErrorCode) -> None:
        if self.in_flight.get(partition) == number:
            del self.in_flight[partition]
            if error_code not in DONE:
                self.unsent.add(partition)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.unsent.discard(partition)
            self.in_flight.pop(partition, None)

    def next_delay_ms(self) -> int:
        delay_ms = self._retry_ms
        self._retry_ms = min(2 * delay_ms, MARKER_RETRY_MAX_MS)
        return delay_ms


def by_leader(
    markers: Iterable[Marker], leader_of: Callable[[TopicPartition], int | None]
) -> dict[int | None, list[Marker]]:
    """The markers for each broker, in one WriteTxnMarkers request each; under None those without a leader."""
    found: dict[int | None, list[Marker]] = {}
    for marker in markers:
        partitions: dict[int | None, list[TopicPartition]] = {}
        for partition in marker.partitions:
            partitions.setdefault(leader_of(partition), []).append(partition)
        for leader, led in partitions.items():
            found.setdefault(leader, []).append(replace(marker, partitions=tuple(led)))
    return found
