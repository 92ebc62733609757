"""A broker with two topics, `orders` and `invoices`, and producers who write to them in transactions."""

from __future__ import annotations

from tests.broker.running_broker import RunningBroker
from tests.broker.transaction_peer import TransactionPeer

from strandline.broker.partition import Partition
from strandline.model.partitions import TopicPartition


class RunningTransactions(RunningBroker):
    def __init__(self, data: str, **settings: str) -> None:
        quick = {
            "offsets_topic_num_partitions": "1",
            "transaction_state_log_num_partitions": "2",
            "transaction_abort_timed_out_transaction_cleanup_interval_ms": "20",
        }
        super().__init__(data, **{**quick, **settings})

    def producer(self) -> TransactionPeer:
        return TransactionPeer(self.address)

    def partition_in_loop(self, topic: str) -> Partition:
        """For what is called in the thread of the broker."""
        partition = self.broker.partitions.find(TopicPartition(topic, 0))
        assert partition is not None
        return partition

    def log_end_offset(self, topic: str) -> int:
        return self.call(lambda: self.partition_in_loop(topic).log.log_end_offset)

    def wait_until_stable(self, topic: str) -> None:
        """Every transaction of it is decided, and its marker written."""
        self.wait_until(lambda: _is_stable(self.partition_in_loop(topic)))


def _is_stable(partition: Partition) -> bool:
    return partition.last_stable_offset == partition.high_watermark
