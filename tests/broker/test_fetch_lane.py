"""A fetch that looks like the one before goes a short way, and its answer is the same to the byte (rules 5 and 6)."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.kafka_peer import framed_request
from tests.broker.manual_host import ManualHost
from tests.broker.partition_alone import PartitionAlone
from tests.broker.running_broker import batch_of

from strandline.broker.configuration import Configuration
from strandline.broker.connection import LANE_BYTES_MAX, Connection, Part
from strandline.broker.dispatch import Dispatch
from strandline.broker.fetch_lane import FetchLane
from strandline.broker.fetch_sessions import FetchSessions
from strandline.broker.handlers.fetch import FetchHandler
from strandline.broker.partitions import Partitions
from strandline.broker.replication_quotas import ReplicationQuotas
from strandline.log.log_slice import LogSlice
from strandline.log.recovery import open_log
from strandline.model.partitions import TopicPartition
from strandline.model.settings import LogSettings
from strandline.records.control import build_marker
from strandline.simulation.disk import SimulatedDisk
from strandline.wire.codec import encode
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from strandline.wire.versions import ApiKey

NOW_MS = 1_700_000_000_000
TOPIC_ID = bytes(range(16))
VERSIONS = range(4, 19)
WAITS = {"wait": 500}


def joined(parts: list[Part]) -> bytes:
    return b"".join(part.read() if isinstance(part, LogSlice) else bytes(part) for part in parts)  # type: ignore[arg-type]


class Scene:
    """A partition with ten batches of two records, and a connection to its leader."""

    def __init__(self, topic: str = "orders") -> None:
        self.topic = topic
        name = TopicPartition(topic, 0)
        log = open_log(SimulatedDisk(), f"/{name}", name, LogSettings(segment_bytes=400), now_ms=NOW_MS)
        self.partition = PartitionAlone(name, TOPIC_ID, log)
        self.partition.lead(3, now_ms=NOW_MS)
        for _ in range(10):
            self.partition.append([batch_of(b"a", b"b", timestamp=NOW_MS)], NOW_MS)
        partitions = Partitions()
        partitions.add(self.partition)
        self.host = ManualHost(NOW_MS)
        quotas = ReplicationQuotas(1, Configuration({}), self.host)
        handler = FetchHandler(partitions, FetchSessions(10, lambda: 5), {}, quotas, self.host, 2**20)
        self.dispatch = Dispatch({ApiKey.FETCH: handler})
        self.connection = Connection(self.dispatch, lambda: None)
        self.client_id = "tester"

    def request(self, version: int, offset: int, correlation_id: int = 1, **claims: int) -> bytes:
        asked = {"epoch": -1, "max_bytes": 2**20, "min_bytes": 1, "isolation_level": 0, "last_epoch": -1, "wait": 0}
        asked |= claims
        wanted = FetchPartition(0, asked["epoch"], offset, asked["last_epoch"], -1, asked["max_bytes"])
        by_id = version >= 13
        topic = FetchTopic("" if by_id else self.topic, TOPIC_ID if by_id else bytes(16), [wanted])
        message = FetchRequest(
            max_wait_ms=asked["wait"], min_bytes=asked["min_bytes"], isolation_level=asked["isolation_level"],
            topics=[topic],
        )  # fmt: skip
        body = encode(message, version)
        return framed_request(ApiKey.FETCH, version, correlation_id=correlation_id, client_id=self.client_id, body=body)

    def transact(self, *is_committed: bool) -> None:
        """Transactions of one record each, which end so, and one that is open."""
        for number, end in enumerate([*is_committed, None]):
            numbered = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number}
            self.partition.append([batch_of(b"t", timestamp=NOW_MS, is_transactional=True, **numbered)], NOW_MS)
            if end is not None:
                marker = build_marker(
                    producer_id=7, producer_epoch=0, is_commit=end, timestamp=NOW_MS, coordinator_epoch=0
                )
                self.partition.append([marker], NOW_MS, from_client=False)

    def send(self, stream: bytes) -> bytes:
        return joined(self.connection.receive(memoryview(bytearray(stream))))

    def proceed(self) -> bytes:
        return joined(self.connection.proceed())

    def happens(self, what: str) -> bytes:
        """While a fetch waits. What is answered then."""
        match what:
            case "a record":
                self.partition.append([batch_of(b"c", timestamp=NOW_MS)], NOW_MS)
            case "an aborted one":
                self.transact(False, True)
            case "its time is up":
                self.host.pass_time(500)
            case "another leads":
                self.partition.stop()
        self.host.settle()
        return self.proceed()

    def send_the_long_way(self, stream: bytes) -> bytes:
        self.connection.lane = None
        return self.send(stream)


@pytest.mark.parametrize("isolation_level", [0, 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_answered_as_by_the_long_way(version: int, isolation_level: int) -> None:
    scene, other = Scene(), Scene()
    for number, offset in enumerate((0, 2, 5, 19, 20, 21, -1, 4)):
        request = scene.request(version, offset, number, isolation_level=isolation_level)
        assert scene.send(request) == other.send_the_long_way(request)
    assert isinstance(scene.connection.lane, FetchLane) == (version >= 9)
    assert scene.connection.requests == 8


@given(
    topic=st.sampled_from(["orders", "o", "o" * 126, "o" * 127, "o" * 249]),
    version=st.sampled_from([9, 11, 12, 13, 17]),
    asked=st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2, 7, 18, 19, 20, 256, 2**40]),
            st.sampled_from(
                [{}, {}, {}, {}, {"epoch": 3}, {"epoch": 2}, {"max_bytes": 90}, {"max_bytes": 0}, {"min_bytes": 0},
                 {"min_bytes": 10**6}, {"isolation_level": 1}, {"last_epoch": 3},
                 WAITS, WAITS, WAITS, {"isolation_level": 1, **WAITS},
                 {"isolation_level": 1, **WAITS}, {"min_bytes": 0, **WAITS}, {"min_bytes": 150, **WAITS},
                 {"epoch": 3, **WAITS}]
            ),
        ),
        max_size=6,
    ),
    cut=st.integers(1, 200),
    ends=st.sampled_from([(), (True,), (False,), (False, True, True), (True, False)]),
    event=st.sampled_from(["a record", "an aborted one", "its time is up", "another leads"]),
)  # fmt: skip
def test_whatever_is_asked_and_wherever_it_is_cut(
    topic: str, version: int, asked: list[tuple[int, dict[str, int]]], cut: int, ends: tuple[bool, ...], event: str
) -> None:
    scene, other = Scene(topic), Scene(topic)
    for each in (scene, other):
        each.transact(*ends)
    for number, (offset, claims) in enumerate(asked):
        request = scene.request(version, offset, number, **claims)
        heard = scene.send(request[:cut]) + scene.send(request[cut:])
        assert heard == other.send_the_long_way(request)
        if not heard and scene.happens(event) != other.happens(event):
            raise AssertionError(f"after {event} the answers to {claims} from {offset} on differ")
        if not scene.connection.takes_more:  # both still wait: there is less than was asked for
            break
    assert scene.dispatch.failures == other.dispatch.failures == 0


def test_the_second_time_nothing_is_decoded() -> None:
    scene = Scene()
    scene.send(scene.request(11, 0))
    with patch("strandline.broker.handlers.fetch.decode_fetch_request") as decode:
        assert scene.send(scene.request(11, 4))
    decode.assert_not_called()


def test_who_reads_what_is_committed_goes_the_short_way_past_what_was_not_aborted() -> None:
    """Which is librdkafka, unless somebody tells it otherwise."""
    scene, other = Scene(), Scene()
    for each in (scene, other):
        each.transact(True, False, True)
    committed = {"isolation_level": 1}
    scene.send(scene.request(11, 0, **committed))
    with patch("strandline.broker.handlers.fetch.decode_fetch_request") as decode:
        heard = scene.send(scene.request(11, 24, **committed))
    decode.assert_not_called()
    assert heard == other.send_the_long_way(other.request(11, 24, **committed))
    past_an_aborted_one = scene.request(11, 20, **committed)
    assert scene.send(past_an_aborted_one) == other.send_the_long_way(past_an_aborted_one)


def test_who_waits_at_the_end_is_not_decoded_either_and_hears_of_a_record() -> None:
    scene, other = Scene(), Scene()
    for each in (scene, other):
        assert each.send(each.request(11, 20, 1, isolation_level=1, **WAITS)) == b""
        assert each.happens("a record")
    with patch("strandline.broker.handlers.fetch.decode_fetch_request") as decode:
        assert scene.send(scene.request(11, 21, 2, isolation_level=1, **WAITS)) == b""
    decode.assert_not_called()
    assert other.send_the_long_way(other.request(11, 21, 2, isolation_level=1, **WAITS)) == b""
    assert scene.happens("a record") == other.happens("a record") != b""


def test_who_waits_and_goes_leaves_nothing_behind() -> None:
    scene = Scene()
    scene.send(scene.request(11, 0, **WAITS))
    with patch("strandline.broker.handlers.fetch.decode_fetch_request") as decode:
        assert scene.send(scene.request(11, 20, **WAITS)) == b""
    decode.assert_not_called()
    assert (scene.partition.watcher_count, scene.host.set_timers) == (1, 1)
    scene.connection.close()
    assert (scene.partition.watcher_count, scene.host.set_timers) == (0, 0)
    assert scene.happens("a record") == b""


def test_two_sent_at_once_are_answered_in_order() -> None:
    scene, other = Scene(), Scene()
    scene.send(scene.request(11, 0))
    both = [scene.request(11, offset, offset) for offset in (2, 4)]
    assert scene.send(b"".join(both)) == b"".join(map(other.send_the_long_way, both))


def test_who_sends_many_at_once_gets_no_more_than_the_bound_before_it_has_taken_them() -> None:
    scene, other = Scene(), Scene()
    scene.send(scene.request(11, 0))
    scene.connection.response_bytes_max = 100
    asked = [scene.request(11, offset, offset) for offset in (2, 4, 6)]
    expected = [other.send_the_long_way(each) for each in asked]
    assert scene.send(b"".join(asked)) == expected[0]
    assert not scene.connection.takes_more
    assert scene.proceed() + scene.proceed() == expected[1] + expected[2]
    assert scene.connection.takes_more


def test_a_partition_that_is_led_no_more_is_found_out() -> None:
    scene, other = Scene(), Scene()
    for each in (scene, other):
        each.send(each.request(11, 0))
        each.partition.stop()
    assert scene.send(scene.request(11, 2)) == other.send_the_long_way(other.request(11, 2))


def test_counts_in_more_bytes_than_they_need_leave_no_lane() -> None:
    """The offset is not where it would be, and must not be taken from there: nor from beside it."""
    scene = Scene()
    plain = scene.request(12, 0, epoch=0)
    at = plain.index(b"\x02\x07orders")
    padded = plain[:at] + b"\x82\x00" + plain[at + 1 :]
    padded = (len(padded) - 4).to_bytes(4, "big") + padded[4:]
    scene.send(padded)
    assert scene.connection.lane is None


@pytest.mark.parametrize(("client_id", "is_remembered"), [("x" * 900, True), ("x" * LANE_BYTES_MAX, False)])
def test_what_a_lane_remembers_is_bounded(client_id: str, is_remembered: bool) -> None:
    scene = Scene()
    scene.client_id = client_id
    scene.send(scene.request(12, 0))
    assert (scene.connection.lane is not None) is is_remembered
