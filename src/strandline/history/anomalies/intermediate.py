"""Transactions of which a consumer read one part and went past another."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

from strandline.history.anomalies.order import gaps
from strandline.history.expectations import Expectations
from strandline.history.index import History
from strandline.history.reading import Break
from strandline.history.verdict import Anomaly, Kind
from strandline.model.partitions import TopicPartition


class _Parts:
    """Where the records of each transaction lie in a partition. Found out once, however often somebody goes past."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._known: dict[tuple[TopicPartition, bool], dict[str, list[int]]] = {}

    def first_within(self, gap: Break, transaction: str) -> int | None:
        """The first of its offsets that the consumer must not have passed over."""
        log = self._history.log(gap.partition)
        offsets = self._of(gap).get(transaction, [])
        index = bisect_left(offsets, max(gap.expected, log.trims.offset_by(gap.poll)))
        return offsets[index] if index < len(offsets) and offsets[index] < gap.offset else None

    def _of(self, gap: Break) -> dict[str, list[int]]:
        is_committed = self._history.lives.reads_committed(gap.poll)
        known = self._known.get((gap.partition, is_committed))
        if known is None:
            known = self._known[gap.partition, is_committed] = defaultdict(list)
            log = self._history.log(gap.partition)
            for offset in log.visible if is_committed else log.known:
                transaction = self.transaction_at(gap.partition, offset)
                if transaction is not None:
                    known[transaction].append(offset)
        return known

    def transaction_at(self, partition: TopicPartition, offset: int) -> str | None:
        claim = self._history.log(partition).claims.get(offset)
        writer = None if claim is None else self._history.writer(partition.topic, claim.value)
        return None if writer is None else writer.transaction


def intermediate_reads(history: History, expectations: Expectations) -> Iterator[Anomaly]:
    """G1b: a consumer read one record of a committed transaction and went past another in the same partition."""
    parts = _Parts(history)
    for gap, _ in gaps(history):
        names = {parts.transaction_at(gap.partition, offset) for offset in (gap.expected - 1, gap.offset)}
        missed = [parts.first_within(gap, name) for name in names if name is not None]
        first = min((offset for offset in missed if offset is not None), default=None)
        if first is not None:
            yield _went_past(history, expectations, gap, first)


def _went_past(history: History, expectations: Expectations, gap: Break, offset: int) -> Anomaly:
    value = history.log(gap.partition).claims[offset].value
    writer = history.writer(gap.partition.topic, value)
    assert writer is not None
    return Anomaly(
        Kind.INTERMEDIATE_READ,
        not gap.is_excused and not expectations.may_delete_from(gap.partition.topic),
        f"{gap.poll.process} read a part of transaction {writer.transaction} in {gap.partition}, and went past"
        f" {value!r} at offset {offset}",
        gap.partition,
        (offset,),
        (value,),
        (gap.poll.process, writer.process),
        (gap.poll.number, writer.number),
    )
