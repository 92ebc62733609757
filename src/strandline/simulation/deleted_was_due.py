"""What retention has deleted it was allowed to delete: nothing else asks for records that are gone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

from strandline.log.log import Log
from strandline.simulation.observed import PartitionTruth, Replica


class DeletedWasDue:
    """When a log begins later than before, what is left is at least `retention.bytes`, or all that went was older than
    `retention.ms` by the clock of its machine. A follower may also begin where some leader has begun, as it must where
    it starts over. Segments go one in a step, so one of the two reasons is that of all that went.

    What is found to be gone by the next process is of a deletion that was under way, and is not asked for."""

    name = "DeletedWasDue"

    def __init__(self, now_ms: Callable[[int], int]) -> None:
        self._now_ms = now_ms  # by the clock of a broker's machine
        self._known: dict[Replica, tuple[Log, int]] = {}
        self._led_from: dict[PartitionTruth, int] = {}  # where the logs of leaders have begun, the furthest of them

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        for replica in truth.replicas.values():
            log = replica.readable_log
            if log is None:
                continue
            begins_at = replica.log_start_offset
            known, began_at = self._known.get(replica, (log, begins_at))
            self._known[replica] = log, begins_at
            led_from = self._led_from.get(truth, 0)
            if replica.leads_in is not None:
                self._led_from[truth] = max(led_from, begins_at)
            may_follow = replica.leads_in is None and begins_at <= led_from
            if known is log and began_at < begins_at and not may_follow:
                yield from self._judge(truth, replica, log, began_at)

    def _judge(self, truth: PartitionTruth, replica: Replica, log: Log, began_at: int) -> Iterator[str]:
        settings = log.settings
        is_enough_left = 0 <= settings.retention_bytes <= log.size_bytes
        newest_ms = newest_between(truth, began_at, replica.log_start_offset)
        age_ms = self._now_ms(replica.broker_id) - newest_ms
        is_too_old = 0 <= settings.retention_ms < age_ms
        if not (settings.deletes and (is_enough_left or is_too_old)):
            yield (
                f"{replica.broker_id}: the log began at {began_at}, and begins at {replica.log_start_offset}: its"
                f" {log.size_bytes} bytes are all that is left (retention.bytes={settings.retention_bytes}), and what"
                f" went was {age_ms} ms old (retention.ms={settings.retention_ms})"
            )


def newest_between(truth: PartitionTruth, begin: int, end: int) -> int:
    """The newest time of what is committed there."""
    first, last = (bisect_left(truth.committed, offset, key=lambda batch: batch.last_offset) for offset in (begin, end))
    return max((batch.max_timestamp for batch in truth.committed[first:last]), default=-1)
