"""What clients were told, against what is true: nothing acknowledged is lost, repeated, moved or out of order."""

from __future__ import annotations

from collections.abc import Iterator

from strandline.simulation.history import NOT_SAID_WHERE, Acknowledged, History
from strandline.simulation.observed import Batch, PartitionTruth


class AcknowledgedStays:
    """What was acknowledged with acks=all is committed where it was said to be; anywhere, if nobody said where. Asked
    when it is acknowledged, and again when all is whole: then every replica has it, unless it was deleted by age or
    size (`DeletedWasDue`). What compaction has left is looked at by its keys (`LastValues`)."""

    name = "AcknowledgedStays"

    def __init__(self, history: History) -> None:
        self._history = history
        self._looked: dict[PartitionTruth, int] = {}
        self._committed: dict[PartitionTruth, dict[int, Batch]] = {}  # by their CRCs, as far as it was followed
        self._followed: dict[PartitionTruth, int] = {}

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        acknowledged = self._history.acknowledged.get(truth.name, [])
        looked = self._looked.get(truth, 0)
        if looked == len(acknowledged) or truth.is_compacted:
            return
        self._looked[truth] = len(acknowledged)
        for each in acknowledged[looked:]:
            if self._place_of(truth, each) is None:
                yield not_committed(each)

    def at_rest(
        self, truth: PartitionTruth, broker_id: int, log_start_offset: int, there: dict[int, Batch]
    ) -> Iterator[str]:
        """`there` is what a replica has, by base offset."""
        if truth.is_compacted:
            return
        for each in self._history.acknowledged.get(truth.name, ()):
            batch = self._place_of(truth, each)
            if batch is None:
                yield not_committed(each)
            elif batch.last_offset >= log_start_offset and there.get(batch.base_offset) != batch:
                yield f"{broker_id} lacks {batch}, which was acknowledged"

    def _place_of(self, truth: PartitionTruth, each: Acknowledged) -> Batch | None:
        if each.base_offset == NOT_SAID_WHERE:
            return self._committed_by_crc(truth).get(each.crc)
        batch = truth.committed_at(each.base_offset)
        return batch if batch is not None and batch.crc == each.crc else None

    def _committed_by_crc(self, truth: PartitionTruth) -> dict[int, Batch]:
        known, followed = self._committed.setdefault(truth, {}), self._followed.get(truth, 0)
        self._followed[truth] = len(truth.committed)
        known.update((batch.crc, batch) for batch in truth.committed[followed:])
        return known


def not_committed(each: Acknowledged) -> str:
    if each.base_offset == NOT_SAID_WHERE:
        return f"crc {each.crc:08x} was acknowledged, without an offset, and is not committed"
    return f"crc {each.crc:08x} was acknowledged at offset {each.base_offset} and is not committed there"


class OnceAndInOrder:
    """Of an idempotent producer each batch is committed once, in the order in which it was sent, and none is missing
    where it never gives one up.

    One leader does not know it: whose log had to start over, as a follower, beyond the last batch of the producer,
    since its own leader had nothing older, or nothing to compare it with. No record tells it of this producer, so it
    takes whatever comes first, be it a batch that is sent again. So does Kafka's, where there was nothing older."""

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
    """Nobody reads what is not committed, or what was refused for good. That nobody reads two things at one offset, or
    loses its place, is found by whoever reads (`History.complaints`)."""

    name = "ReadsAreTrue"

    def __init__(self, history: History) -> None:
        self._history = history

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        for reader, batch in self._history.unchecked.pop(truth.name, ()):
            if truth.committed_at(batch.base_offset) != batch:
                yield f"{reader} read {batch}, which is not committed"
            refusal = self._history.failed.get(batch.crc)
            if refusal is not None and self._history.sent[batch.crc].partition == truth.name:
                yield f"{reader} read {batch}, of which its producer was told {refusal}"
