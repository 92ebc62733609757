"""Settings of the transaction coordinator, by Kafka's names and with Kafka's defaults.

The fields are the broker's properties with underscores for dots.
"""

from __future__ import annotations

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import DAY_MS, HOUR_MS, INT_MAX, MINUTE_MS, PropertySettings, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings(PropertySettings):
    transaction_max_timeout_ms: int = setting(15 * MINUTE_MS, "transaction.max.timeout.ms", at_least=1, at_most=INT_MAX)
    transactional_id_expiration_ms: int = setting(
        7 * DAY_MS, "transactional.id.expiration.ms", at_least=1, at_most=INT_MAX
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = setting(
        10_000, "transaction.abort.timed.out.transaction.cleanup.interval.ms", at_least=1, at_most=INT_MAX
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting(
        HOUR_MS, "transaction.remove.expired.transaction.cleanup.interval.ms", at_least=1, at_most=INT_MAX
    )
    transaction_partition_verification_enable: bool = setting(True, "transaction.partition.verification.enable")
    # How often, and how long, a broker tries to add a partition while the last transaction is not complete.
    add_partitions_to_txn_retry_backoff_ms: int = setting(
        20, "add.partitions.to.txn.retry.backoff.ms", at_least=1, at_most=INT_MAX
    )
    add_partitions_to_txn_retry_backoff_max_ms: int = setting(
        100, "add.partitions.to.txn.retry.backoff.max.ms", at_least=0, at_most=INT_MAX
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionStateTopicSettings(PropertySettings):
    """How `__transaction_state` is made on first use, and read."""

    transaction_state_log_num_partitions: int = setting(
        50, "transaction.state.log.num.partitions", at_least=1, at_most=INT_MAX
    )
    transaction_state_log_replication_factor: int = setting(
        3, "transaction.state.log.replication.factor", at_least=1, at_most=2**15 - 1
    )
    transaction_state_log_min_isr: int = setting(2, "transaction.state.log.min.isr", at_least=1, at_most=INT_MAX)
    transaction_state_log_segment_bytes: int = setting(
        100 * 2**20, "transaction.state.log.segment.bytes", at_least=1, at_most=INT_MAX
    )
    transaction_state_log_load_buffer_size: int = setting(
        5 * 2**20, "transaction.state.log.load.buffer.size", at_least=1, at_most=INT_MAX
    )

    def topic_properties(self) -> dict[str, str]:
        """What is decided here must not be lost to an election, nor be thinned out otherwise than by its key."""
        return {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "unclean.leader.election.enable": "false",
            "min.insync.replicas": str(self.transaction_state_log_min_isr),
            "segment.bytes": str(self.transaction_state_log_segment_bytes),
        }
