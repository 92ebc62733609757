"""When to tell the controller that ISRs have changed (SPEC R4).

The leaders write ISRs into the store by themselves; the controller learns of it from a notice, one for many partitions.
Every 2.5 s the broker looks whether one is due: after 5 s in which no ISR changed, or 60 s after the last notice where
they change all the time. So a single change is known within seconds, and a storm of them costs one notice a minute.
"""

from __future__ import annotations

from strandline.model.partitions import TopicPartition

CHECK_INTERVAL_MS = 2_500
QUIET_MS = 5_000
NOTICE_INTERVAL_MAX_MS = 60_000


class IsrChangeNotices:
    def __init__(self, now_ms: int) -> None:
        self._changed: dict[TopicPartition, None] = {}  # in the order of the first change
        self._last_change_ms = now_ms
        self._last_notice_ms = now_ms

    def changed(self, partition: TopicPartition, now_ms: int) -> None:
        self._changed[partition] = None
        self._last_change_ms = now_ms

    def due(self, now_ms: int) -> tuple[TopicPartition, ...]:
        """The partitions to write into a notice now; none if it is not time yet. Call `told` once it is written."""
        is_quiet = now_ms - self._last_change_ms > QUIET_MS
        is_late = now_ms - self._last_notice_ms > NOTICE_INTERVAL_MAX_MS
        return tuple(self._changed) if is_quiet or is_late else ()

    def told(self, partitions: tuple[TopicPartition, ...], now_ms: int) -> None:
        """A partition that has changed since is told twice, which does no harm."""
        for partition in partitions:
            self._changed.pop(partition, None)
        self._last_notice_ms = now_ms
