"""DeleteRecords: what lies below an offset is gone at once, and stays gone (SPEC C4)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.admin_peer import AdminPeer
from tests.broker.running_broker import RunningBroker, batch_of

from strandline.broker.handlers.list_offsets import EARLIEST
from strandline.model.failures import ErrorCode
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(str(tmp_path / "data")) as running:
        yield running


@pytest.fixture
def peer(broker: RunningBroker) -> Iterator[AdminPeer]:
    with AdminPeer.of(broker) as peer:
        peer.create_one("orders")
        peer.fill("orders", *(b"%d" % number for number in range(10)))
        yield peer


def earliest(peer: AdminPeer, topic: str = "orders") -> int:
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=EARLIEST)])])
    return peer.ask(request, 7, ListOffsetsResponse).topics[0].partitions[0].offset


def fetch_error(peer: AdminPeer, offset: int) -> int:
    partition = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1000)
    request = FetchRequest(max_bytes=1000, topics=[FetchTopic("orders", partitions=[partition])])
    return peer.ask(request, 11, FetchResponse).responses[0].partitions[0].error_code


@pytest.mark.parametrize("version", range(3))
def test_records_go_in_every_version(peer: AdminPeer, version: int) -> None:
    result = peer.delete_records("orders", 4, version=version)
    assert (result.error_code, result.low_watermark) == (0, 4)
    assert earliest(peer) == 4
    assert fetch_error(peer, 3) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert fetch_error(peer, 4) == 0


def test_minus_one_is_everything_that_is_committed(peer: AdminPeer) -> None:
    assert peer.delete_records("orders", -1).low_watermark == 10
    assert peer.produce("orders", batch_of(b"next"))[0].base_offset == 10


def test_the_log_start_does_not_go_back(peer: AdminPeer) -> None:
    peer.delete_records("orders", 6)
    assert peer.delete_records("orders", 2).low_watermark == 6
    assert earliest(peer) == 6


def test_what_cannot_be_deleted(peer: AdminPeer) -> None:
    """reliability 7.2: above the high watermark 1, without the delete policy 44."""
    assert peer.delete_records("orders", 11).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert peer.delete_records("orders", -2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert peer.delete_records("orders", 1, index=3).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert peer.delete_records("nobody", 1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    peer.create_one("accounts", configs={"cleanup.policy": "compact"})
    assert peer.delete_records("accounts", -1).error_code == ErrorCode.POLICY_VIOLATION
    peer.create_one("__consumer_offsets")
    refused = peer.delete_records("__consumer_offsets", -1)
    assert (refused.error_code, refused.low_watermark) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
    assert earliest(peer) == 0


def test_what_was_deleted_does_not_come_back(peer: AdminPeer, tmp_path: Path) -> None:
    """The copy is what a broker finds that was killed right after its answer. The offset lies inside a segment."""
    peer.delete_records("orders", 7)
    shutil.copytree(tmp_path / "data", tmp_path / "after the kill")
    with RunningBroker(str(tmp_path / "after the kill")) as again, AdminPeer.of(again) as restarted:
        assert earliest(restarted) == 7
        assert restarted.produce("orders", batch_of(b"next"))[0].base_offset == 10


def test_a_compacted_and_deleted_topic_may_be_cut_too(peer: AdminPeer) -> None:
    peer.set_topic("orders", cleanup_policy="compact,delete")
    assert peer.delete_records("orders", 5).low_watermark == 5
