"""The committed offsets of all groups of a shard, and those that wait for the end of a transaction (KIP-98).

An offset committed in a transaction is pending until the transaction's marker: a commit makes it the group's offset,
an abort drops it. Since the plain and the transactional commits of a partition come from different producers, the one
**later in the log** wins, whatever the order of the markers; so each offset knows where its record lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from strandline.groups.records import NONE_MS, OffsetCommitKey, OffsetCommitValue
from strandline.model.partitions import TopicPartition

NO_PRODUCER_ID = -1


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None
    record_offset: int  # where in `__consumer_offsets` it was committed


OffsetsByPartition = dict[TopicPartition, CommittedOffset]


class Offsets:
    __slots__ = ("_committed", "_open_producers", "_pending")

    def __init__(self) -> None:
        self._committed: dict[str, OffsetsByPartition] = {}
        self._pending: dict[int, dict[str, OffsetsByPartition]] = {}  # by producer id, then group
        self._open_producers: dict[str, set[int]] = {}  # by group: whose transactions hold offsets of it

    def apply(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, record_offset: int, producer_id: int
    ) -> None:
        partition = TopicPartition(key.topic, key.partition)
        if value is None:
            self._remove(key.group, partition)
            return
        offset = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            # Kafka once took -1 for a time long past, and dropped offsets on loading them (KAFKA-8069).
            None if value.expire_timestamp == NONE_MS else value.expire_timestamp,
            record_offset,
        )
        if producer_id == NO_PRODUCER_ID:
            self._committed.setdefault(key.group, {})[partition] = offset
        else:
            self._pending.setdefault(producer_id, {}).setdefault(key.group, {})[partition] = offset
            self._open_producers.setdefault(key.group, set()).add(producer_id)

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        for group, offsets in self._pending.pop(producer_id, {}).items():
            self._open_producers[group].discard(producer_id)
            if not self._open_producers[group]:
                del self._open_producers[group]
            for partition, offset in offsets.items() if committed else ():
                current = self.get(group, partition)
                if current is None or offset.record_offset > current.record_offset:
                    self._committed.setdefault(group, {})[partition] = offset

    def _remove(self, group: str, partition: TopicPartition) -> None:
        offsets = self._committed.get(group, {})
        offsets.pop(partition, None)
        if not offsets:
            self._committed.pop(group, None)
        for pending in self._pending_of(group):
            pending.pop(partition, None)

    def _pending_of(self, group: str) -> Iterator[OffsetsByPartition]:
        for producer_id in self._open_producers.get(group, ()):
            yield self._pending[producer_id][group]

    def get(self, group: str, partition: TopicPartition) -> CommittedOffset | None:
        return self._committed.get(group, {}).get(partition)

    def of_group(self, group: str) -> OffsetsByPartition:
        return self._committed.get(group, {})

    def is_pending(self, group: str, partition: TopicPartition) -> bool:
        return any(partition in pending for pending in self._pending_of(group))

    def has_open_transaction(self, group: str) -> bool:
        return group in self._open_producers

    def has_any(self, group: str) -> bool:
        return group in self._committed or self.has_open_transaction(group)

    def partitions(self, group: str) -> list[TopicPartition]:
        """Of all offsets, committed or pending."""
        found = dict.fromkeys(self._committed.get(group, ()))
        for pending in self._pending_of(group):
            found |= dict.fromkeys(pending)
        return sorted(found)

    def groups(self) -> list[str]:
        return sorted({*self._committed, *self._open_producers})
