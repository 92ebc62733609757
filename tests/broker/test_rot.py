"""Rot on a broker's disk: an answer for the partition that has it, and business as usual for all others."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from tests.broker.running_broker import BrokerPeer, RunningBroker, batch_of

from strandline.model.failures import ErrorCode
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from strandline.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)

MIB = 2**20
SMALL_SEGMENTS = {"log_segment_bytes": "2000", "log_cleaner_enable": "false"}


def zero_first_segment_but_one(folder: Path) -> int:
    """Its base offset."""
    path = sorted(folder.glob("*.log"))[1]
    path.write_bytes(bytes(path.stat().st_size))
    return int(path.stem)


def rotten_topic(data: Path) -> int:
    """Topics `bad` and `good`, and the offset from which `bad` has rotted while the broker was down."""
    with RunningBroker(str(data), **SMALL_SEGMENTS) as running, running.peer() as peer:
        for topic in ("bad", "good"):
            peer.create_topic(topic)
            peer.produce(topic, *(batch_of(b"x" * 300) for _ in range(20)))
    return zero_first_segment_but_one(data / "bad-0")


def fetch(peer: BrokerPeer, *wanted: tuple[str, int], wait_ms: int = 0, version: int = 11) -> dict[str, PartitionData]:
    topics = [FetchTopic(topic, partitions=[FetchPartition(0, -1, offset, -1, -1, MIB)]) for topic, offset in wanted]
    request = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, topics=topics)
    return {each.topic: each.partitions[0] for each in peer.ask(request, version, FetchResponse).responses}


def test_a_fetch_of_rot_and_of_sound_records_is_answered(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rotten = rotten_topic(tmp_path)
    with RunningBroker(str(tmp_path), **SMALL_SEGMENTS) as running, running.peer() as peer:
        for _ in range(3):
            found = fetch(peer, ("bad", rotten), ("good", 0))
            assert found["bad"].error_code == ErrorCode.CORRUPT_MESSAGE
            assert not found["bad"].records
            assert found["good"].error_code == 0
            assert found["good"].records
        assert fetch(peer, ("bad", rotten))["bad"].error_code == ErrorCode.CORRUPT_MESSAGE
        assert fetch(peer, ("bad", 0))["bad"].records, "what lies before it can be read"
        assert fetch(peer, ("bad", 19))["bad"].records, "and what lies behind it"
    told = [each for each in caplog.records if "strandline log check" in each.getMessage()]
    assert [(each.levelno, "bad-0" in each.getMessage()) for each in told] == [(logging.ERROR, True)]


def test_one_of_a_run_of_like_fetches(tmp_path: Path) -> None:
    """They go by a short way, which has nothing to say of errors."""
    rotten = rotten_topic(tmp_path)
    with RunningBroker(str(tmp_path), **SMALL_SEGMENTS) as running, running.peer() as peer:
        for offset in (0, 1, rotten, 0, rotten):
            expected = ErrorCode.CORRUPT_MESSAGE if offset == rotten else ErrorCode.NONE
            assert fetch(peer, ("bad", offset))["bad"].error_code == expected


def test_a_long_poll_is_answered_at_once(tmp_path: Path) -> None:
    rotten = rotten_topic(tmp_path)
    with RunningBroker(str(tmp_path), **SMALL_SEGMENTS) as running, running.peer() as peer:
        found = fetch(peer, ("good", 20), ("bad", rotten), wait_ms=600_000)
        assert {topic: data.error_code for topic, data in found.items()} == {"good": 0, "bad": 2}


def test_a_search_by_time(tmp_path: Path) -> None:
    rotten_topic(tmp_path)
    with RunningBroker(str(tmp_path), **SMALL_SEGMENTS) as running, running.peer() as peer:
        topics = [ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, 1_000)]) for topic in ("bad", "good")]
        answer = peer.ask(ListOffsetsRequest(-1, 0, topics), 7, ListOffsetsResponse)
        assert [topic.partitions[0].offset for topic in answer.topics] == [0, 0]


def test_rot_in_one_partition_of_a_coordinator(tmp_path: Path) -> None:
    """Its groups are not served, and are told why; those of all other partitions are."""
    settings = {"offsets_topic_num_partitions": "4", "offsets_topic_segment_bytes": "300", **SMALL_SEGMENTS}
    groups = [f"group-{number}" for number in range(20)]
    with RunningBroker(str(tmp_path), **settings) as running, running.peer() as peer:
        peer.create_topic("orders")
        find(peer, groups)
        for group in groups:
            commit(peer, group)
        rotten_partition = running.broker.groups.partition_of(groups[0])
        rotten = {group for group in groups if running.broker.groups.partition_of(group) == rotten_partition}
    path = min((tmp_path / f"__consumer_offsets-{rotten_partition}").glob("*.log"))
    path.write_bytes(bytes(20) + path.read_bytes()[20:])
    with RunningBroker(str(tmp_path), **settings) as running, running.peer() as peer:
        running.wait_until(lambda: not running.broker.groups.led.is_loading)
        for found in find(peer, groups):
            error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE if found.key in rotten else ErrorCode.NONE
            assert found.error_code == error_code
            assert bool(found.error_message and path.name in found.error_message) == (found.key in rotten)
        assert {commit(peer, group) for group in rotten} == {ErrorCode.NOT_COORDINATOR}
        assert {commit(peer, group) for group in groups if group not in rotten} == {ErrorCode.NONE}


def find(peer: BrokerPeer, groups: list[str]) -> list[Coordinator]:
    return peer.ask(
        FindCoordinatorRequest(key_type=0, coordinator_keys=groups), 4, FindCoordinatorResponse
    ).coordinators


def commit(peer: BrokerPeer, group: str) -> int:
    topics = [OffsetCommitRequestTopic("orders", partitions=[OffsetCommitRequestPartition(0, 7)])]
    answer = peer.ask(OffsetCommitRequest(group, topics=topics), 8, OffsetCommitResponse)
    return answer.topics[0].partitions[0].error_code
