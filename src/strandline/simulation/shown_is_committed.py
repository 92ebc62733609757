"""What a follower's high watermark covers: that it is what was committed."""

from __future__ import annotations

from collections.abc import Iterator

from strandline.simulation.observed import PartitionTruth


class ShownIsCommitted:
    """A follower shows what lies below its high watermark, to whoever reads from the nearest replica, and again when it
    is elected. So its log has there what was committed, and nothing else: a high watermark that was heard before the
    log was cut would cover records that nobody committed (KAFKA-14704)."""

    name = "ShownIsCommitted"

    def check(self, truth: PartitionTruth) -> Iterator[str]:
        if truth.is_compacted:
            return
        for replica in truth.replicas.values():
            if replica.leads_in is not None or replica.leader_epoch < 0 or replica.has_lost_power or replica.is_unread:
                continue
            if replica.high_watermark > truth.committed_end:
                yield (
                    f"follower {replica.broker_id} has the high watermark {replica.high_watermark}, and what is"
                    f" committed ends at {truth.committed_end}"
                )
            missing = truth.lacks(replica)
            if missing is not None and missing.base_offset < replica.high_watermark:
                yield (
                    f"follower {replica.broker_id} has the high watermark {replica.high_watermark}, and lacks"
                    f" {missing}, which was committed"
                )
