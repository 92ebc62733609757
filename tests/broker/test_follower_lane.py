"""A fetch of a follower that looks like the one before goes a short way, and what comes of it is the same (SPEC R2)."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.follower_session import BROKER_EPOCH, LEADER_EPOCH, PARTITIONS, TOPIC_ID, VERSION, WAIT_MS, Leader
from tests.broker.kafka_peer import framed_request
from tests.broker.partition_alone import FOLLOWER_ID

from strandline.broker import follower_fetches, follower_lane
from strandline.broker.follower_lane import READINGS_MAX, FollowerLane, _reading
from strandline.model.failures import ErrorCode
from strandline.wire.codec import encode
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from strandline.wire.versions import ApiKey

Step = Callable[[Leader], object]


def in_session() -> Leader:
    """In which everything was said, and one request has left a lane behind."""
    leader = Leader()
    leader.ask(*range(PARTITIONS))
    leader.wait()
    leader.ask(0)
    leader.wait()
    return leader


def take(leader: Leader, index: int) -> None:
    leader.ends[index] = leader.partitions[index].log.log_end_offset
    leader.ask(index)


def one_of_many(index: int) -> st.SearchStrategy[Step]:
    return st.sampled_from(
        [
            lambda leader: leader.write(index),
            lambda leader: leader.ask(index),
            lambda leader: leader.ask(),
            lambda leader: take(leader, index),
            lambda leader: leader.ask(index, (index + 1) % PARTITIONS),
            lambda leader: leader.ask(index, epoch=9),
            lambda leader: leader.ask(index, wait_ms=20),
            lambda leader: leader.hear(),
            lambda leader: leader.wait(),
            lambda leader: leader.partitions[index].advance_log_start(1),
            lambda leader: leader.host.pass_time(1_000),
        ]
    )


steps = st.lists(st.integers(0, PARTITIONS - 1).flatmap(one_of_many), max_size=30)


@given(steps)
def test_both_ways_say_the_same(what_happens: list[Step]) -> None:
    with patch.object(follower_fetches, "follower_lane_of", lambda *_: None):
        general = in_session()
    short = in_session()
    assert isinstance(short.connection.lane, FollowerLane)
    for step in what_happens:
        with patch.object(follower_fetches, "follower_lane_of", lambda *_: None):
            step(general)
        step(short)
        assert short.stream == general.stream
        assert short.session_epoch == general.session_epoch
        for one, other in zip(short.partitions, general.partitions, strict=True):
            assert one.high_watermark == other.high_watermark


def test_the_next_fetch_of_a_session_goes_the_short_way() -> None:
    leader = in_session()
    leader.write(2)
    with patch.object(follower_fetches.FollowerFetches, "answer", side_effect=AssertionError):
        assert leader.ask(2) is not None
        take(leader, 2)
    assert leader.partitions[2].high_watermark == 2
    assert leader.connection.takes_more is False, "it waits"


def test_an_epoch_that_is_not_the_next_is_refused() -> None:
    leader = in_session()
    leader.session_epoch += 1
    leader.write(1)
    assert leader.ask(1) == []
    assert ErrorCode.INVALID_FETCH_SESSION_EPOCH.to_bytes(2, "big") in leader.stream
    assert leader.partitions[1].high_watermark == 1


def test_a_session_that_has_gone_is_not_found_by_its_lane() -> None:
    leader = in_session()
    leader.sessions._drop(leader.session_id)
    assert leader.ask(1) == []
    assert ErrorCode.FETCH_SESSION_ID_NOT_FOUND.to_bytes(2, "big") in leader.stream


@pytest.mark.parametrize("cut", [1, 40, 100])
def test_a_fetch_may_come_in_two_pieces(cut: int) -> None:
    leader = in_session()
    leader.write(3)
    request = FetchRequest(
        replica_state=ReplicaState(FOLLOWER_ID, BROKER_EPOCH),
        max_wait_ms=WAIT_MS,
        min_bytes=1,
        session_id=leader.session_id,
        session_epoch=leader.session_epoch,
        topics=[FetchTopic(topic_id=TOPIC_ID, partitions=[FetchPartition(3, LEADER_EPOCH, 1, LEADER_EPOCH, 0, 2**20)])],
    )
    frame = bytearray(framed_request(ApiKey.FETCH, VERSION, body=encode(request, VERSION)))
    assert leader.connection.receive(memoryview(frame)[:cut]) == []
    (answer,) = leader._heard(leader.connection.receive(memoryview(frame)[cut:])) or []
    assert answer.partition_index == 3
    assert answer.records


def test_what_a_peer_chooses_is_remembered_in_bounds() -> None:
    """How long a request's parts are, whoever sends it, has a form of its own."""
    for size in range(3 * READINGS_MAX):
        _reading(size, 0)
    assert _reading.cache_info().currsize == READINGS_MAX


def test_a_request_that_brings_more_than_a_follower_does_leaves_no_lane() -> None:
    leader = in_session()
    with patch.object(follower_lane, "LANE_BYTES_MAX", 10):
        leader.connection.lane = None
        leader.ask(1)
    assert leader.connection.lane is None
