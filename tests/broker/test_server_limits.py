"""What connections may cost: how many, how long, how much memory (reliability 4.1 and rows 62 to 64)."""

from __future__ import annotations

import errno
import os
import socket
from contextlib import ExitStack, suppress
from struct import pack

import pytest
from tests.broker.kafka_peer import KafkaPeer, echo_request, framed_request
from tests.broker.running_server import RunningServer

from strandline.broker import server as server_module
from strandline.broker.network_settings import NetworkSettings
from strandline.wire.versions import ApiKey

HALF_FRAME = pack(">i", 1000) + bytes(10)


def resident_kib() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


class TestConnections:
    def test_beyond_the_limit_of_all(self) -> None:
        with RunningServer(NetworkSettings(max_connections=2)) as running:
            with KafkaPeer(running.address) as first, KafkaPeer(running.address) as second:
                first.echo(1)
                second.echo(1)
                with KafkaPeer(running.address) as third:
                    assert third.is_closed_by_broker()
                first.echo(2)
            running.wait_until(lambda: running.server.connection_count == 0)
            with KafkaPeer(running.address) as later:
                later.echo(1)
            assert running.call(lambda: running.server.counters.refused) == 1

    def test_beyond_the_limit_of_one_address(self) -> None:
        settings = NetworkSettings(max_connections_per_ip=1, max_connections_per_ip_overrides=("::1:2",))
        with RunningServer(settings, host="") as running, ExitStack() as peers:
            port = running.address[1]
            for host, allowed in (("127.0.0.1", 1), ("::1", 2)):
                for number in range(allowed):
                    peers.enter_context(KafkaPeer((host, port))).echo(number)
                assert peers.enter_context(KafkaPeer((host, port))).is_closed_by_broker()

    def test_those_beyond_the_rate_wait_and_then_are_served(self) -> None:
        """KIP-612: a storm of connections costs a part of the time, not all of it."""
        with RunningServer(NetworkSettings(max_connection_creation_rate=50)) as running, ExitStack() as storm:
            peers = [storm.enter_context(KafkaPeer(running.address)) for _ in range(60)]
            for number, peer in enumerate(peers):
                peer.echo(number)
            counters = running.server.counters
            assert running.call(lambda: (counters.accepted, counters.refused)) == (60, 0)
            assert running.call(lambda: counters.accepting_delayed) > 0

    def test_no_descriptor_is_kept_of_those_who_came_and_went(self) -> None:
        with RunningServer(NetworkSettings(max_connections=20)) as running:
            with KafkaPeer(running.address) as peer:
                peer.echo(1)
                before = len(os.listdir("/proc/self/fd"))
                for _ in range(3):
                    with ExitStack() as storm:
                        for _ in range(40):
                            storm.enter_context(KafkaPeer(running.address)).send(HALF_FRAME[:2])
                    running.wait_until(lambda: running.server.connection_count == 1)
                    peer.echo(2)
            counters = running.server.counters
            running.wait_until(
                lambda: counters.accepted + counters.refused == 121 and counters.closed == counters.accepted
            )
            assert len(os.listdir("/proc/self/fd")) < before
            assert counters.refused > 0

    def test_no_descriptor_left_is_survived(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """KAFKA-13457: an error in accept loses neither the listener nor a socket."""
        monkeypatch.setattr(server_module, "ACCEPT_PAUSE_S", 0.01)
        failures = [errno.EMFILE, errno.ECONNABORTED]
        real_accept = socket.socket.accept

        def accept(listener: socket.socket) -> object:
            if failures:
                number = failures.pop()
                raise OSError(number, os.strerror(number))
            return real_accept(listener)

        with RunningServer() as running:
            monkeypatch.setattr(socket.socket, "accept", accept)
            with KafkaPeer(running.address) as peer:
                peer.echo(1)
        assert not failures


class TestTime:
    def test_idle_connections_are_closed(self) -> None:
        with RunningServer(NetworkSettings(connections_max_idle_ms=60_000)) as running, ExitStack() as peers:
            idle, busy = (peers.enter_context(KafkaPeer(running.address)) for _ in range(2))
            idle.echo(1)
            running.clock.now_s = 40
            busy.echo(1)
            running.clock.now_s = 61
            running.call(running.server.close_stalled)
            assert idle.is_closed_by_broker()
            busy.echo(2)
            assert running.call(lambda: running.server.counters.closed_idle) == 1

    def test_who_waits_for_us_is_not_idle(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            peer.send(framed_request(ApiKey.LIST_GROUPS, 2))
            running.wait_until(lambda: bool(running.parked))
            running.clock.now_s = 10_000
            running.call(running.server.close_stalled)
            running.call(lambda: running.parked[0].answer(b""))
            assert peer.response() == (1, b"")
            running.call(running.server.close_stalled)  # its time begins anew
            peer.echo(2)

    def test_half_a_frame_behind_a_parked_request_is_not_stalled(self) -> None:
        behind = echo_request(2, b"behind")
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            peer.send(framed_request(ApiKey.LIST_GROUPS, 2) + behind[:9])
            running.wait_until(lambda: bool(running.parked))
            for now_s, act in ((100, lambda: None), (200, lambda: running.parked[0].answer(b""))):
                running.clock.now_s = now_s
                running.call(act)
                running.call(running.server.close_stalled)
            peer.send(behind[9:])
            assert [peer.response(), peer.response()] == [(1, b""), (2, b"behind")]

    def test_who_sends_on_amid_a_long_poll_and_then_hangs_up(self) -> None:
        """What it sent hides its end from whoever does not read. A long poll may last for weeks."""
        with RunningServer() as running:
            with KafkaPeer(running.address) as peer:
                peer.send(framed_request(ApiKey.LIST_GROUPS, 2))
                running.wait_until(lambda: bool(running.parked))
                peer.send(echo_request(2))
                running.wait_until(lambda: not any(channel._is_reading for channel in running.server._channels))
                running.call(running.server.close_stalled)
                assert running.call(lambda: running.server.connection_count) == 1
            running.wait_until(lambda: all(channel.has_hung_up() for channel in running.server._channels))
            running.call(running.server.close_stalled)
            assert running.call(lambda: running.server.connection_count) == 0
            assert running.parked[0].connection.is_closed

    def test_half_a_frame_then_silence(self) -> None:
        with RunningServer(NetworkSettings(socket_request_stalled_ms=30_000)) as running, ExitStack() as peers:
            half, size, idle = (peers.enter_context(KafkaPeer(running.address)) for _ in range(3))
            half.send(HALF_FRAME)
            size.send(b"\0\0")
            idle.echo(1)
            running.wait_until(lambda: sum(each.received_bytes > 0 for each in running.server._channels) == 3)
            running.clock.now_s = 29
            running.call(running.server.close_stalled)
            half.send(b"progress")
            running.wait_until(lambda: any(each.last_progress_s == 29 for each in running.server._channels))
            running.clock.now_s = 31
            running.call(running.server.close_stalled)
            assert size.is_closed_by_broker()
            running.clock.now_s = 60
            running.call(running.server.close_stalled)
            assert half.is_closed_by_broker()
            idle.echo(2)

    def test_who_never_takes_an_answer(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address, 4096) as peer:
            peer.send(echo_request(1, bytes(8 * 2**20)))
            running.wait_until(lambda: any(channel.outbox for channel in running.server._channels))
            running.clock.now_s = 601
            running.call(running.server.close_stalled)
            running.wait_until(lambda: running.server.connection_count == 0)


class TestMemory:
    def test_half_frames_cost_little_and_harm_nobody(self) -> None:
        """Each announces 100 MB, sends a little and falls silent."""
        settings = NetworkSettings(max_connections_per_ip=600, socket_listen_backlog_size=600)
        with RunningServer(settings) as running, ExitStack() as peers:
            good = peers.enter_context(KafkaPeer(running.address))
            good.echo(0)
            before_kib = resident_kib()
            for _ in range(500):
                peers.enter_context(KafkaPeer(running.address)).send(pack(">i", 100_000_000) + bytes(100))
            running.wait_until(lambda: sum(each.received_bytes > 100 for each in running.server._channels) >= 500)
            assert running.call(lambda: running.server.buffered_bytes) <= 500 * 100
            assert resident_kib() - before_kib < 8 * 1024
            good.echo(1)

    def test_who_sends_on_while_it_waits_is_not_read(self) -> None:
        """KAFKA-7639."""
        with RunningServer() as running, KafkaPeer(running.address) as peer, KafkaPeer(running.address) as good:
            peer.send(framed_request(ApiKey.LIST_GROUPS, 2))
            running.wait_until(lambda: bool(running.parked))
            peer.socket.setblocking(False)
            with suppress(BlockingIOError):
                for _ in range(100):
                    peer.socket.send(echo_request(2, bytes(100_000)))
            good.echo(1)
            received = running.call(lambda: {channel.received_bytes for channel in running.server._channels})
            assert max(received) < 100
            assert running.call(lambda: running.server.buffered_bytes) == 0

    def test_those_who_hold_most_go_when_all_hold_too_much(self) -> None:
        settings = NetworkSettings(queued_max_request_bytes=600_000)
        with RunningServer(settings) as running, ExitStack() as peers:
            small, greedy = (peers.enter_context(KafkaPeer(running.address)) for _ in range(2))
            small.send(HALF_FRAME)
            greedy.send(pack(">i", 50_000_000))
            with pytest.raises(ConnectionError):
                greedy.send(bytes(49_000_000))
            assert running.call(lambda: running.server.counters.closed_for_memory) == 1
            small.send(bytes(990))
            assert small.is_closed_by_broker()  # its request makes no sense, but it was read
            running.wait_until(lambda: running.server.buffered_bytes == 0)

    def test_a_connection_that_closes_gives_its_memory_back(self) -> None:
        with RunningServer() as running:
            with KafkaPeer(running.address) as peer:
                peer.send(HALF_FRAME)
                running.wait_until(lambda: running.server.buffered_bytes == 10)
            running.wait_until(lambda: running.server.connection_count == 0)
            assert running.server.buffered_bytes == 0
            assert len(running.server._connections_by_ip) == 0
            assert running.server.traffic() == (0, len(HALF_FRAME), 0)


class TestTurns:
    """A few bytes may ask for much: whoever sends a thousand such requests at once is not served before all others."""

    def test_others_are_served_between_two_requests_that_take_long(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as greedy, KafkaPeer(running.address) as other:
            other.echo(1)
            running.may_go_on.clear()
            greedy.send(b"".join(framed_request(ApiKey.DESCRIBE_GROUPS, 0, correlation_id=n) for n in range(100, 150)))
            other.send(echo_request(2))
            running.may_go_on.set()
            assert [greedy.response()[0] for _ in range(50)] == [*range(100, 150)]
            assert other.response()[0] == 2
            handled = running.call(lambda: list(running.handled))
        assert [number for number in handled if number >= 100] == [*range(100, 150)]
        assert handled.index(2) <= handled.index(103)

    def test_one_that_reads_nothing_keeps_nobody_waiting(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as greedy, KafkaPeer(running.address) as other:
            running.may_go_on.clear()
            greedy.send(b"".join(framed_request(ApiKey.DESCRIBE_GROUPS, 0, correlation_id=n) for n in range(100, 400)))
            other.send(echo_request(2))
            running.may_go_on.set()
            assert other.response()[0] == 2
            running.wait_until(lambda: len(running.handled) == 301)
            assert running.handled.index(2) < 5
