"""Offsets without a record are told apart: compaction, markers, aborted transactions; on what Kafka wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from strandline.model.partitions import TopicPartition
from strandline.records.batch import split_batches
from strandline.records.heads import head_of
from strandline.spark.data_loss import LossReporter, describe_aged_out, describe_gone
from strandline.spark.failures import DataLoss
from strandline.spark.offset_gaps import OffsetGaps

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "kraft-3.9"
ORDERS = TopicPartition("orders", 0)


def log_of(partition: str) -> memoryview:
    return memoryview(b"".join(path.read_bytes() for path in sorted((GOLDEN / partition).glob("*.log"))))


def end_of(data: memoryview) -> int:
    return max(head_of(batch).next_offset for batch in split_batches(data))


def gaps_of(data: memoryview, aborted: list[tuple[int, int]] | None = None) -> OffsetGaps:
    gaps = OffsetGaps(0, end_of(data))
    gaps.count(data, aborted)
    gaps.finish()
    return gaps


def test_every_offset_is_a_record_or_has_a_reason() -> None:
    for partition in ("payments-0", "accounts-0", "orders-0"):
        data = log_of(partition)
        records = sum(head.record_count for head in map(head_of, split_batches(data)) if not head.is_control)
        gaps = gaps_of(data)
        assert records + gaps.compacted + gaps.markers == end_of(data)
        assert gaps.aborted == 0
    assert str(gaps_of(log_of("orders-0"))) == ""
    assert "were taken by compaction" in str(gaps_of(log_of("accounts-0")))
    assert gaps_of(log_of("payments-0")).compacted == 0
    assert "are markers of transactions" in str(gaps_of(log_of("payments-0")))


def test_aborted_records_are_counted_where_they_are_not_shown() -> None:
    data = log_of("payments-0")
    first = next(head for head in map(head_of, split_batches(data)) if head.is_transactional and not head.is_control)
    gaps = gaps_of(data, [(first.producer_id, first.base_offset)])
    assert gaps.aborted >= first.record_count
    assert "belong to aborted transactions" in str(gaps)


def test_a_loss_says_what_happened(caplog: pytest.LogCaptureFixture) -> None:
    policies = {"cleanup.policy": "compact", "retention.ms": "5"}
    assert "somebody deleted records (cleanup.policy=compact has no retention)" in describe_aged_out(
        ORDERS, 1, 4, policies
    )
    nothing = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
    assert describe_aged_out(ORDERS, 1, 4, nothing).endswith(
        "1 to 3 were not read: somebody deleted records (retention.ms and retention.bytes take none)"
    )
    assert "(retention.ms=5), or somebody" in describe_aged_out(ORDERS, 1, 4, nothing | {"retention.ms": "5"})
    assert describe_gone([ORDERS], set()) == "orders-0 is gone: topic orders was deleted"
    assert "created anew with fewer partitions" in describe_gone([ORDERS], {"orders"})
    with pytest.raises(DataLoss, match="it is gone; set the option failOnDataLoss"):
        LossReporter(is_fatal=True).report("it is gone")
    LossReporter(is_fatal=False).report("it is gone")
    assert "it is gone; going on, because failOnDataLoss is false" in caplog.text
