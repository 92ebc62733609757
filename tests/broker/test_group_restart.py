"""After a restart everything about groups is back: offsets, generations, members and what they were assigned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest
from tests.broker.group_peer import GroupPeer
from tests.broker.kafka_peer import WAIT_S
from tests.broker.running_groups import RunningGroups

from strandline.model.failures import ErrorCode
from strandline.testing import Broker
from strandline.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from strandline.wire.messages.join_group import JoinGroupResponse

HOST = "127.0.0.1"


def wait_until_loaded(running: RunningGroups) -> None:
    deadline = monotonic() + WAIT_S
    while running.call(lambda: running.broker.groups.led.is_loading):
        assert monotonic() < deadline
        sleep(0.005)


def test_offsets_are_back(tmp_path: Path) -> None:
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        peer.create_topic("orders")
        peer.find_coordinator("g")
        for number in range(20):
            peer.commit(f"g{number}", {0: number, 1: 100 + number}, metadata="m")
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        wait_until_loaded(running)
        found = [[each.committed_offset for each in peer.committed(f"g{number}", 0, 1)] for number in range(20)]
        assert found == [[number, 100 + number] for number in range(20)]
        assert len(peer.list_groups()) == 20


def test_members_go_on_where_they_were(tmp_path: Path) -> None:
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        joined = peer.stable_member("g", instance_id="kitchen")
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        wait_until_loaded(running)
        assert peer.heartbeat("g", joined) == 0
        synced = peer.sync("g", joined)
        assert (synced.error_code, synced.assignment, synced.protocol_name) == (0, b"all", "range")
        again = peer.join("g", joined.member_id, instance_id="kitchen")
        assert again.generation_id >= joined.generation_id


def test_members_that_do_not_come_back_are_put_out(tmp_path: Path) -> None:
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        joined = peer.stable_member("g", session_ms=200)
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        wait_until_loaded(running)
        deadline = monotonic() + WAIT_S
        while peer.list_groups()[0].group_state != "Empty":
            assert monotonic() < deadline
            sleep(0.02)
        assert peer.heartbeat("g", joined) == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_of_the_new_protocol_too(tmp_path: Path) -> None:
    def beat(peer: GroupPeer, epoch: int) -> ConsumerGroupHeartbeatResponse:
        stated = ConsumerGroupHeartbeatRequest("g", "anna", epoch, None, None, 10_000, ["orders"], topic_partitions=[])
        known = ConsumerGroupHeartbeatRequest("g", "anna", epoch)
        return peer.ask(known if epoch else stated, 1, ConsumerGroupHeartbeatResponse)

    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        peer.create_topic("orders")
        peer.find_coordinator("g")
        joined = beat(peer, 0)
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        wait_until_loaded(running)
        answer = beat(peer, joined.member_epoch)
        assert (answer.error_code, answer.member_epoch) == (0, joined.member_epoch)


def test_a_deleted_group_stays_deleted(tmp_path: Path) -> None:
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        peer.create_topic("orders")
        peer.find_coordinator("g")
        peer.commit("g", {0: 5})
        running.call(lambda: running.broker.image.remove_topic("orders"))
        assert peer.offset("g") == -1
    with RunningGroups(str(tmp_path)) as running, running.member() as peer:
        wait_until_loaded(running)
        assert peer.offset("g") == -1


@pytest.mark.parametrize("end", [Broker.stop, Broker.kill], ids=["SIGTERM", "SIGKILL"])
def test_a_process_that_ends_one_way_or_another(end: Callable[[Broker], None]) -> None:
    with Broker(process=True) as broker:
        with GroupPeer((HOST, broker.port)) as peer:
            peer.create_topic("orders")
            joined = peer.stable_member("g")
            assert peer.commit("g", {0: 7}, member=joined) == [0]
            assert peer.commit("simple", {0: 9}) == [0]
        end(broker)
        broker.start()
        with GroupPeer((HOST, broker.port)) as peer:
            deadline = monotonic() + WAIT_S
            while peer.sync("g", joined).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                assert monotonic() < deadline
            synced = peer.sync("g", joined)
            assert (synced.error_code, synced.assignment) == (0, b"all")
            assert peer.heartbeat("g", joined) == 0
            assert peer.commit("g", {0: 8}, member=joined) == [0]
            assert (peer.offset("g"), peer.offset("simple")) == (8, 9)
            old = JoinGroupResponse(generation_id=joined.generation_id - 1, member_id=joined.member_id)
            assert peer.heartbeat("g", old) == ErrorCode.ILLEGAL_GENERATION


@pytest.mark.parametrize("waiting", ["join", "nothing"])
def test_a_stop_does_not_wait_for_members(tmp_path: Path, waiting: str) -> None:
    """Whoever waits hears that there is no coordinator here, and the connection closes."""
    with RunningGroups(str(tmp_path)) as running:
        anna, bert = running.member(), running.member()
        anna.stable_member("g")
        if waiting == "join":
            bert.tell_join("g", version=3)
            anna.heartbeat("g", anna.join("g", "nobody"))  # bert's request is there by now
    if waiting == "join":
        assert bert.hear_joined(3).error_code == ErrorCode.NOT_COORDINATOR
    assert anna.is_closed_by_broker()
    assert bert.is_closed_by_broker()
    anna.socket.close()
    bert.socket.close()
