"""What clients were told, against what is true: nothing acknowledged is lost, repeated, moved or out of order.

Every batch that a producer makes is unlike all others, so its CRC is its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from strandline.model.partitions import TopicPartition
from strandline.simulation.observed import Batch, PartitionTruth


class Sent(NamedTuple):
    producer: str
    number: int  # within its producer and partition
    is_idempotent: bool
    partition: TopicPartition  # a CRC is one of some billions: in thousands of runs others have the same
    is_gapless: bool = False  # whether its producer never gives one up


class Acknowledged(NamedTuple):
    crc: int
    base_offset: int
    at_us: int


class OutOfOrder(NamedTuple):
    """A leader said it of a batch that was in its log when it was sent again."""

    crc: int
    leader: str
    leader_epoch: int  # in which it had taken it


class History:
    def __init__(self) -> None:
        self.sent: dict[int, Sent] = {}
        self.taken: dict[int, int] = {}  # by crc: the epoch in which a leader took it into its log
        self.out_of_order: dict[TopicPartition, list[OutOfOrder]] = {}
        self.acknowledged: dict[TopicPartition, list[Acknowledged]] = {}
        self.failed: dict[int, None] = {}  # definitely
        self.read: dict[TopicPartition, dict[int, int]] = {}  # crc by base offset
        self.unchecked: dict[TopicPartition, list[tuple[str, Batch]]] = {}  # reads that nobody has compared yet
        self.complaints: list[str] = []
        self.acknowledged_count = 0
        self.read_count = 0

    def acknowledge(self, partition: TopicPartition, crc: int, base_offset: int, now_us: int) -> None:
        """With acks=all. An offset of -1 says that it is there, and not where."""
        self.acknowledged_count += 1
        if base_offset >= 0:
            self.acknowledged.setdefault(partition, []).append(Acknowledged(crc, base_offset, now_us))

    def was_read(self, reader: str, partition: TopicPartition, batch: Batch) -> None:
        self.read_count += 1
        self.unchecked.setdefault(partition, []).append((reader, batch))
        known = self.read.setdefault(partition, {}).setdefault(batch.base_offset, batch.crc)
        if known != batch.crc:
            self.complaints.append(
                f"{reader} read {batch} of {partition}; before, somebody read crc {known:08x} at that offset"
            )


class AcknowledgedStays:
    """What was acknowledged with acks=all is committed where it was said to be; asked when it is acknowledged, and
    again at the end."""

    name = "AcknowledgedStays"

    def __init__(self, history: History) -> None:
        self._history = history
        self._looked: dict[PartitionTruth, int] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        acknowledged = self._history.acknowledged.get(truth.name, [])
        looked = self._looked.get(truth, 0)
        if looked == len(acknowledged) or truth.is_compacted:
            return
        self._looked[truth] = len(acknowledged)
        for each in acknowledged[looked:]:
            batch = truth.committed_at(each.base_offset)
            if batch is None or batch.crc != each.crc:
                yield f"crc {each.crc:08x} was acknowledged at offset {each.base_offset} and is not committed there"


class OnceAndInOrder:
    """Of an idempotent producer each batch is committed once, in the order in which it was sent, and none is missing
    where it never gives one up.

    One leader does not know it: whose log had to start over, as a follower, beyond the last batch of the producer,
    since its own leader had nothing older. No record told it of this producer, so it takes whatever comes first, be it
    a batch that is sent again. So does Kafka's."""

    name = "OnceAndInOrder"

    def __init__(self, history: History) -> None:
        self._history = history
        self._looked: dict[PartitionTruth, int] = {}
        self._last: dict[tuple[PartitionTruth, str], tuple[int, Batch]] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        looked = self._looked.get(truth, 0)
        self._looked[truth] = len(truth.committed)
        for batch in truth.committed[looked:]:
            sent = self._history.sent.get(batch.crc)
            if sent is None or not sent.is_idempotent or sent.partition != truth.name:
                continue
            last, before = self._last.get((truth, sent.producer), (-1, None))
            self._last[truth, sent.producer] = sent.number, batch
            if before is not None and before.last_offset < truth.forgotten.get(batch.leader_epoch, 0):
                continue
            if sent.number <= last or (sent.is_gapless and sent.number != last + 1):
                yield f"batch {sent.number} of {sent.producer} is committed at {batch}, after its batch {last}"


class RepeatsAreKnown:
    """A leader knows the last five batches of a producer that it took itself, so none of them comes out of order when
    it is sent again. What it took in an epoch it knows as long as it leads in it: restarted, it leads in another."""

    name = "RepeatsAreKnown"

    def __init__(self, history: History) -> None:
        self._history = history

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        for replica in truth.replicas.values():
            if replica.leads_in is not None:
                for batch in replica.news:
                    if batch.leader_epoch == replica.leads_in:
                        self._history.taken[batch.crc] = batch.leader_epoch
        for refused in self._history.out_of_order.pop(truth.name, ()):
            if any(
                replica.leads_in == refused.leader_epoch and refused.leader == f"b{replica.broker_id}"
                for replica in truth.replicas.values()
            ):
                sent = self._history.sent[refused.crc]
                yield (
                    f"batch {sent.number} of {sent.producer} came out of order to {refused.leader}, which had taken it"
                    f" in epoch {refused.leader_epoch} and still leads"
                )


class ReadsAreTrue:
    """Nobody reads what is not committed, and nobody reads two things at one offset."""

    name = "ReadsAreTrue"

    def __init__(self, history: History) -> None:
        self._history = history

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        complaints, self._history.complaints = self._history.complaints, []
        yield from complaints
        for reader, batch in self._history.unchecked.pop(truth.name, ()):
            if truth.committed_at(batch.base_offset) != batch:
                yield f"{reader} read {batch}, which is not committed"
