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
        now_ms = self._host.now_ms()
        plan = plan_retention(partition.log, now_ms=now_ms, high_watermark=partition.high_watermark)
        oldest = plan.verdicts[:1]
        if not plan.going or not apply_retention(partition.log, RetentionPlan(oldest), now_ms):
            return False
        logger.info("%s: %s goes: %s", partition.name, oldest[0].segment, oldest[0].reason)
        return True
