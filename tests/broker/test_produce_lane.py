"""Requests that look like the one before go a short way (rules 3 and 5), and nobody can tell but by the time it takes.

A twin broker that never goes it says what must come of each stream, wherever it is cut.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import cast
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.kafka_peer import framed_request
from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import BROKER_ID, FOLLOWER_ID, PartitionAlone
from tests.broker.running_broker import batch_of

from strandline.broker.connection import LANE_BYTES_MAX, Connection
from strandline.broker.dispatch import Dispatch
from strandline.broker.handlers.produce import ProduceHandler
from strandline.broker.partitions import Partitions
from strandline.broker.produce_lane import ProduceLanes
from strandline.broker.transactional_produce import ProduceInTransactions
from strandline.log.recovery import open_log
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.batch import set_place
from strandline.simulation.disk import SimulatedDisk
from strandline.wire.codec import decode, encode
from strandline.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from strandline.wire.versions import ApiKey

NOW_MS = 1_700_000_000_000


class Scene:
    """One connection to the leader of two partitions."""

    def __init__(self, *, takes_lanes: bool = True, replicas: tuple[int, ...] = (BROKER_ID,)) -> None:
        self.host = ManualHost(NOW_MS)
        self.disk = SimulatedDisk()
        self.partitions = Partitions()
        for index in range(2):
            name = TopicPartition("orders", index)
            settings = LogSettings(segment_bytes=3_000, segment_index_bytes=12_000)
            log = open_log(self.disk, f"/{name}", name, settings, now_ms=NOW_MS)
            partition = PartitionAlone(name, bytes(16), log)
            partition.lead(replicas=replicas, now_ms=NOW_MS)
            self.partitions.add(partition)
        handler = ProduceHandler(self.partitions, self.host, cast("ProduceInTransactions", None))  # nobody is in one
        self.dispatch = Dispatch({ApiKey.PRODUCE: handler}, handler.settle)
        self.connection = Connection(self.dispatch, lambda: None)
        self.takes_lanes = takes_lanes

    def partition(self, index: int = 0) -> PartitionAlone:
        found = self.partitions.find(TopicPartition("orders", index))
        assert isinstance(found, PartitionAlone)
        return found

    def send(self, stream: bytes) -> bytes:
        if self.takes_lanes:
            return self._send(stream)
        with patch("strandline.broker.produce_lane.lane_of", return_value=None):
            return self._send(stream)

    def _send(self, stream: bytes) -> bytes:
        return self._joined(self.connection.receive(memoryview(bytearray(stream))))

    def proceed(self) -> bytes:
        return self._joined(self.connection.proceed())

    @staticmethod
    def _joined(parts: Sequence[object]) -> bytes:
        return b"".join(part for part in parts if isinstance(part, bytes))

    def files(self) -> dict[str, bytes]:
        found = {}
        for index in range(2):
            for segment in self.partition(index).log.segments.all():
                found[segment.path(".log")] = segment.file.read(0, segment.size_bytes)
        return found


def request(
    batch: bytes | bytearray,
    correlation_id: int = 1,
    *,
    index: int = 0,
    acks: int = 1,
    version: int = 9,
    client_id: str = "tester",
) -> bytes:
    topic = TopicProduceData("orders", partition_data=[PartitionProduceData(index, bytes(batch))])
    body = encode(ProduceRequest(None, acks, 1_000, [topic]), version)
    return framed_request(ApiKey.PRODUCE, version, correlation_id=correlation_id, client_id=client_id, body=body)


def damaged(batch: bytearray) -> bytearray:
    batch[-1] ^= 1
    return batch


def answers_in(stream: bytes, version: int = 9) -> list[tuple[int, PartitionProduceResponse]]:
    """Correlation id and outcome of each."""
    found = []
    while stream:
        size = int.from_bytes(stream[:4], "big")
        frame, stream = memoryview(stream[4 : 4 + size]), stream[4 + size :]
        body = frame[5:] if version >= 9 else frame[4:]
        response = decode(ProduceResponse, version, body)
        found.append((int.from_bytes(frame[:4], "big"), response.responses[0].partition_responses[0]))
    return found


def plain(value: bytes = b"a") -> bytearray:
    return batch_of(value, timestamp=NOW_MS)


kinds: dict[str, Callable[[int], bytes]] = {
    "plain": lambda number: request(plain(), number),
    "longer": lambda number: request(plain(b"a" * 400), number),
    "two records": lambda number: request(batch_of(b"a", b"b", timestamp=NOW_MS), number),
    "elsewhere": lambda number: request(plain(), number, index=1),
    "nowhere": lambda number: request(plain(), number, index=7),
    "all in sync": lambda number: request(plain(), number, acks=-1),
    "no answer": lambda number: request(plain(), number, acks=0),
    "older": lambda number: request(plain(), number, version=8),
    "damaged": lambda number: request(damaged(plain()), number),
    "untimely": lambda number: request(batch_of(b"a", timestamp=2**60), number),
    "known": lambda number: request(
        batch_of(b"a", timestamp=NOW_MS, producer_id=7, producer_epoch=0, base_sequence=number % 3), number
    ),
    "placed": lambda number: request(placed(plain()), number),
    "short": lambda number: request(plain()[:60], number),
}


def placed(batch: bytearray) -> bytearray:
    """What stands where the leader writes means nothing."""
    set_place(batch, 0, 99, len(batch) - 12, 99)
    return batch


@given(
    asked=st.lists(st.sampled_from(["plain"] * 9 + ["longer"] * 3 + list(kinds)), max_size=12),
    cuts=st.lists(st.integers(1, 700), min_size=1, max_size=6),
)
def test_wherever_the_stream_is_cut_the_answers_and_the_files_are_those_of_the_long_way(
    asked: list[str], cuts: list[int]
) -> None:
    frames = [kinds[kind](number) for number, kind in enumerate(asked)]
    expected = Scene(takes_lanes=False)
    answers = b"".join(expected.send(frame) for frame in frames)
    scene, heard, stream, turn = Scene(), b"", b"".join(frames), 0
    while stream:
        piece, stream = stream[: cuts[turn % len(cuts)]], stream[cuts[turn % len(cuts)] :]
        heard += scene.send(piece)
        turn += 1
    assert heard == answers
    assert scene.files() == expected.files()
    assert scene.connection.requests == len(frames)
    assert scene.dispatch.failures == 0


def test_those_of_one_receive_share_one_write() -> None:
    scene = Scene()
    scene.send(request(plain()))
    scene.send(request(plain()))
    with patch.object(
        type(scene.partition()), "append", autospec=True, side_effect=type(scene.partition()).append
    ) as spy:
        heard = answers_in(scene.send(b"".join(request(plain(), number) for number in (3, 4, 5))))
    assert [answer.base_offset for _, answer in heard] == [2, 3, 4]
    assert spy.call_count == 1


def test_nobody_overtakes_the_request_that_opened_the_lane() -> None:
    """It waits for the end of the receive, and those behind it look like it."""
    heard = answers_in(Scene().send(b"".join(request(plain(b"%d" % number), number) for number in range(4))))
    assert [(number, answer.base_offset) for number, answer in heard] == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_with_followers_each_waits_for_the_high_watermark_and_leaves_in_order() -> None:
    """SPEC R8."""
    scene = Scene(replicas=(BROKER_ID, FOLLOWER_ID))
    scene.send(request(plain(), 1, acks=-1))
    scene.partition().replicate(NOW_MS)
    assert len(scene.proceed()) > 0
    assert scene.send(request(plain(), 2, acks=-1) + request(plain(), 3, acks=-1)) == b""
    assert not scene.connection.takes_more
    scene.partition().replicate(NOW_MS)
    heard = answers_in(scene.proceed())
    assert [(number, answer.error_code, answer.base_offset) for number, answer in heard] == [(2, 0, 1), (3, 0, 2)]


def waiting() -> Scene:
    """Three requests with acks=all, the last of which repeats what is committed already."""
    scene = Scene(replicas=(BROKER_ID, FOLLOWER_ID))
    batches = [
        batch_of(b"a", timestamp=NOW_MS, producer_id=7, producer_epoch=0, base_sequence=sequence)
        for sequence in (0, 1, 2, 0)
    ]
    scene.send(request(batches[0], 1, acks=-1))
    scene.partition().replicate(NOW_MS)
    scene.proceed()
    assert scene.send(b"".join(request(batch, number, acks=-1) for number, batch in enumerate(batches[1:], 2))) == b""
    return scene


def one_more(scene: Scene) -> None:
    scene.partition().follower_fetched(FOLLOWER_ID, 2, NOW_MS, 0, -1)


def too_few(scene: Scene) -> None:
    leader = scene.partition().leader
    assert leader is not None
    leader.has_enough_replicas = False
    scene.partition().has_failed()  # tells those who wait


def broken(scene: Scene) -> None:
    scene.partition().log.failed(OSError(5, "broken"))
    scene.partition().has_failed()


FATES: dict[str, tuple[Callable[[Scene], object], list[tuple[int, int, int]]]] = {
    "all": (lambda scene: scene.partition().replicate(NOW_MS), [(2, 0, 1), (3, 0, 2), (4, 0, 0)]),
    "the next": (one_more, [(2, 0, 1)]),
    "too late": (lambda scene: scene.host.pass_time(1_000), [(2, 7, -1), (3, 7, -1), (4, 0, 0)]),
    "led no more": (lambda scene: scene.partition().stop(), [(2, 6, -1), (3, 6, -1), (4, 0, 0)]),
    "too few": (too_few, [(2, 20, -1), (3, 20, -1), (4, 0, 0)]),
    "broken": (broken, [(2, 56, -1), (3, 56, -1), (4, 0, 0)]),
}


@pytest.mark.parametrize("fate", FATES)
def test_those_who_wait_together_hear_what_each_would_hear(fate: str) -> None:
    """Correlation id, error, offset. What was committed before is committed, whatever happens to the rest."""
    happens, expected = FATES[fate]
    scene = waiting()
    happens(scene)
    heard = answers_in(scene.proceed())
    assert [(number, answer.error_code, answer.base_offset) for number, answer in heard] == expected
    assert scene.partition().watcher_count == (len(expected) < 3)
    assert scene.host.set_timers == (len(expected) < 3)


@pytest.mark.parametrize("acks", [1, -1])
def test_a_leader_that_is_fenced_takes_nothing(acks: int) -> None:
    scene = Scene()
    for number in range(2):
        scene.send(request(plain(), number, acks=acks))
    leader = scene.partition().leader
    assert leader is not None
    leader.is_fenced = True
    ((_, answer),) = answers_in(scene.send(request(plain(), 3, acks=acks)))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert scene.partition().log.log_end_offset == 2


def test_a_partition_that_is_led_no_more_is_found_out() -> None:
    scene = Scene()
    for number in range(2):
        scene.send(request(plain(), number))
    scene.partition().stop()
    ((_, answer),) = answers_in(scene.send(request(plain(), 3)))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_failure_that_nobody_foresaw_ends_the_connection() -> None:
    scene = Scene()
    for number in range(2):
        scene.send(request(plain(), number))
    with patch.object(type(scene.partition()), "append", side_effect=RuntimeError("a bug")):
        assert scene.send(request(plain(), 3)) == b""
    assert scene.connection.is_finished
    assert scene.dispatch.failures == 1


def test_a_disk_that_failed_is_told_of_to_each() -> None:
    scene = Scene()
    for number in range(2):
        scene.send(request(plain(), number))
    scene.partition().log.failed(OSError(5, "broken"))
    heard = answers_in(scene.send(request(plain(), 3) + request(plain(), 4)))
    assert [answer.error_code for _, answer in heard] == [ErrorCode.KAFKA_STORAGE_ERROR] * 2


def lanes_of(scene: Scene) -> list[int]:
    assert isinstance(scene.connection.lane, ProduceLanes)
    return [lane.partition.name.partition for lane in scene.connection.lane._by_key.values()]


def test_a_producer_that_goes_round_partitions_has_a_lane_for_each() -> None:
    """librdkafka sends each partition a request of its own."""
    scene = Scene()
    for number in range(4):
        scene.send(request(plain(), number, index=number % 2))
    assert lanes_of(scene) == [0, 1]
    with patch("strandline.broker.handlers.produce.decode_produce_request", side_effect=AssertionError):
        stream = b"".join(request(plain(), number, index=index) for number, index in enumerate([0, 1, 1, 0, 1]))
        answers = answers_in(scene.send(stream))
    assert [(number, answer.index, answer.base_offset) for number, answer in answers] == [
        (0, 0, 2), (1, 1, 2), (2, 1, 3), (3, 0, 3), (4, 1, 4),
    ]  # fmt: skip


@pytest.mark.parametrize("version", [8, 9])
def test_the_first_request_for_another_partition_of_the_topic_goes_the_short_way_too(version: int) -> None:
    """Else all that came with it would have to follow it the long way."""
    scene = Scene()
    scene.send(request(plain(), version=version))
    with patch("strandline.broker.handlers.produce.decode_produce_request", side_effect=AssertionError):
        stream = b"".join(request(plain(), n, index=index, version=version) for n, index in enumerate([1, 0, 1]))
        answers = answers_in(scene.send(stream), version)
    heard = [(number, answer.index, answer.base_offset) for number, answer in answers]
    assert heard == [(0, 1, 0), (1, 0, 1), (2, 1, 1)]
    assert lanes_of(scene) == [0, 1]


def test_a_request_with_something_behind_the_records_leaves_no_lane() -> None:
    """Records that begin with their own length, and whose last four bytes come behind them: with those it is a batch,
    and the length stood where the index is looked for. The next such request was for the partition of that number."""
    scene = Scene()
    batch = bytes(plain())
    frame = request(len(batch).to_bytes(4, "big") + batch[:-4], version=8)
    scene.send(len(frame).to_bytes(4, "big") + frame[4:] + batch[-4:])
    assert scene.connection.lane is None


@pytest.mark.parametrize(("client_id", "is_remembered"), [("x" * 900, True), ("x" * LANE_BYTES_MAX, False)])
def test_what_a_lane_remembers_is_bounded(client_id: str, is_remembered: bool) -> None:
    """Nobody counts it, so a request that brings more than any client does leaves nothing behind."""
    scene = Scene()
    for index in (0, 1):
        answers = answers_in(scene.send(request(plain(), index=index, client_id=client_id)))
        assert answers[0][1].error_code == ErrorCode.NONE
    assert (lanes_of(scene) == [0, 1]) if is_remembered else (scene.connection.lane is None)


def test_a_partition_that_there_is_not_has_no_lane() -> None:
    scene = Scene()
    scene.send(request(plain()))
    ((_, answer),) = answers_in(scene.send(request(plain(), index=2)))
    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert lanes_of(scene) == [0]


def test_another_partition_that_is_not_led_here_is_refused() -> None:
    scene = Scene()
    scene.send(request(plain()))
    scene.partition(1).stop()
    ((_, answer),) = answers_in(scene.send(request(plain(), index=1)))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert scene.partition(1).log.log_end_offset == 0
    assert scene.dispatch.failures == 0


def test_lanes_are_bounded_and_make_room_in_time() -> None:
    scene = Scene()
    with patch("strandline.broker.produce_lane.LANES_MAX", 1), patch("strandline.broker.produce_lane.MISSES_MAX", 3):
        scene.send(request(plain()))
        found = []
        for number in range(4):
            scene.send(request(plain(), number, index=1))
            found.append(lanes_of(scene))
    assert found == [[0], [0], [1], [1]]


def test_lanes_of_all_connections_are_bounded_and_each_may_have_one() -> None:
    gc.collect()  # of the tests before this one
    before = ProduceLanes.count_of_all
    first, second = Scene(), Scene()
    with patch("strandline.broker.produce_lane.LANES_OF_ALL_MAX", before + 2):
        for scene in (first, second):
            for index in (0, 1):
                scene.send(request(plain(), index=index))
        assert (lanes_of(first), lanes_of(second)) == ([0, 1], [0])
        assert ProduceLanes.count_of_all == before + 3
        first.connection.forget_lane()  # it was closed
        assert ProduceLanes.count_of_all == before + 1
        second.send(request(plain(), index=1))
    assert lanes_of(second) == [0, 1]


def test_requests_of_another_shape_begin_other_lanes() -> None:
    scene = Scene()
    for acks in (1, -1):
        for index in (0, 1):
            scene.send(request(plain(), index=index, acks=acks))
    assert lanes_of(scene) == [0, 1, 0, 1]
    scene.send(request(plain(), version=8))
    assert lanes_of(scene) == [0]
