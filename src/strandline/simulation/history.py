"""What clients sent, were told and read.

Every batch that a producer makes is unlike all others, so its CRC is its name.
"""

from __future__ import annotations

from typing import NamedTuple

from strandline.model.partitions import TopicPartition
from strandline.records.record import Record
from strandline.simulation.observed import Batch

NOT_SAID_WHERE = -1


class Sent(NamedTuple):
    producer: str
    number: int  # within its producer and partition
    is_idempotent: bool
    partition: TopicPartition  # a CRC is one of some billions: in thousands of runs others have the same
    is_gapless: bool = False  # whether its producer never gives one up


class Acknowledged(NamedTuple):
    crc: int
    base_offset: int  # or NOT_SAID_WHERE
    at_us: int


class OutOfOrder(NamedTuple):
    """A leader said it of a batch that was in its log when it was sent again."""

    crc: int
    leader: str
    leader_epoch: int  # in which it had taken it


class History:
    def __init__(self) -> None:
        self.sent: dict[int, Sent] = {}
        self.kept: dict[int, list[Record]] = {}  # by crc: the records of what is written to the compacted topic
        self.taken: dict[int, int] = {}  # by crc: the epoch in which a leader took it into its log
        self.out_of_order: dict[TopicPartition, list[OutOfOrder]] = {}
        self.acknowledged: dict[TopicPartition, list[Acknowledged]] = {}
        self.failed: dict[int, str] = {}  # by crc: what was said of a batch that is nowhere, and is not sent again
        self.read: dict[TopicPartition, dict[int, int]] = {}  # crc by base offset
        self.unchecked: dict[TopicPartition, list[tuple[str, Batch]]] = {}  # reads that nobody has compared yet
        self.complaints: list[str] = []
        self.acknowledged_count = 0
        self.read_count = 0  # batches, by whomever

    def acknowledge(self, partition: TopicPartition, crc: int, base_offset: int, now_us: int) -> None:
        """With acks=all. It is `NOT_SAID_WHERE` a batch is that was sent before the one that was answered, and got no
        answer itself: sequence numbers leave no gap, so it is there, too."""
        self.acknowledged_count += 1
        self.acknowledged.setdefault(partition, []).append(Acknowledged(crc, base_offset, now_us))

    def was_read(self, reader: str, partition: TopicPartition, batch: Batch) -> None:
        self.unchecked.setdefault(partition, []).append((reader, batch))
        known = self.read.setdefault(partition, {}).setdefault(batch.base_offset, batch.crc)
        if known != batch.crc:
            self.complaints.append(
                f"{reader} read {batch} of {partition}; before, somebody read crc {known:08x} at that offset"
            )
