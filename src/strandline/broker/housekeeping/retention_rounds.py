"""Retention in the broker: every `log.retention.check.interval.ms` what is too old or too much goes (SPEC C1-C5).

Once records are gone, a snapshot is all that is known of their producers, so it must be on the disk before they go. To
wait for the disk would keep everybody waiting, a few milliseconds for each of thousands of partitions; so a thread
flushes what a log has not, the round goes on when that is done, and what is left for the event loop is to give files
other names, one segment in a turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

from strandline.broker.host import Host
from strandline.broker.housekeeping.background import Background
from strandline.broker.housekeeping.rounds import Visit
from strandline.broker.partition import Partition
from strandline.log.flush import FlushWork
from strandline.log.log import Log
from strandline.log.retention import RetentionPlan, SegmentVerdict, apply_retention, plan_retention

logger = logging.getLogger(__name__)


class Retention:
    def __init__(self, host: Host, background: Background) -> None:
        self._host = host
        self._background = background

    def visit(self, partition: Partition, go_on: Callable[[], None]) -> Visit:
        """Take the oldest segment out if it has to go."""
        now_ms, log = self._host.now_ms(), partition.log
        first = log.segments.first
        was_open = first.is_open
        plan = plan_retention(log, now_ms=now_ms, high_watermark=partition.high_watermark)
        if plan.going and plan.going[0].is_active:
            log.roll(now_ms)  # it goes like any other once there is another after it
        if plan.going and log.has_unflushed_files:
            return self._flush(log, go_on)
        if not plan.going or not self._remove(partition, plan.verdicts[0], now_ms):
            if not was_open and first is not log.segments.active:
                first.forget()  # its time is known now; five descriptors for each of ten thousand logs are too many
            return Visit.DONE
        return Visit.AGAIN

    def _remove(self, partition: Partition, oldest: SegmentVerdict, now_ms: int) -> bool:
        is_gone = apply_retention(partition.log, RetentionPlan((oldest,)), now_ms) > 0
        if is_gone:
            logger.info("%s: %s goes: %s", partition.name, oldest.segment, oldest.reason)
        return is_gone

    def _flush(self, log: Log, go_on: Callable[[], None]) -> Visit:
        if self._background.is_stopping:
            return Visit.DONE
        work = log.begin_flush(log.recovery_point)
        self._background.run(work.run, partial(self._flushed, log, work, go_on))
        return Visit.LATER

    def _flushed(self, log: Log, work: FlushWork, go_on: Callable[[], None], done: Future[None]) -> None:
        try:
            done.result()
            log.end_flush(work, self._host.now_ms())
        except OSError as failure:
            log.failed(failure)
        finally:
            go_on()
