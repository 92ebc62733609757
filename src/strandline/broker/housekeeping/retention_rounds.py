"""Retention in the broker: every `log.retention.check.interval.ms` what is too old or too much goes (SPEC C1-C5).

One segment in a turn of the event loop: taking it out of the log syncs a few names.
"""

from __future__ import annotations

import logging

from strandline.broker.host import Host
from strandline.broker.partition import Partition
from strandline.log.retention import RetentionPlan, apply_retention, plan_retention

logger = logging.getLogger(__name__)


class Retention:
    def __init__(self, host: Host) -> None:
        self._host = host

    def visit(self, partition: Partition) -> bool:
        """Take the oldest segment out if it has to go; whether it had to."""
        now_ms, log = self._host.now_ms(), partition.log
        first = log.segments.first
        was_open = first.is_open
        plan = plan_retention(log, now_ms=now_ms, high_watermark=partition.high_watermark)
        oldest = plan.verdicts[:1]
        if not plan.going or not apply_retention(log, RetentionPlan(oldest), now_ms):
            if not was_open and first is not log.segments.active:
                first.forget()  # its time is known now; five descriptors for each of ten thousand logs are too many
            return False
        logger.info("%s: %s goes: %s", partition.name, oldest[0].segment, oldest[0].reason)
        return True
