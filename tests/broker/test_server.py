"""Real sockets on loopback: pipelining, order, halves of frames, bad bytes, stopping (performance rules 1 and 3)."""

from __future__ import annotations

import random
import socket
import threading
from struct import pack

import pytest
from tests.broker.kafka_peer import KafkaPeer, api_versions_request, echo_request, framed_request
from tests.broker.running_server import RunningServer

from strandline.broker.network_settings import NetworkSettings
from strandline.model.failures import ErrorCode
from strandline.wire.versions import SERVED, ApiKey

PARKED = framed_request(ApiKey.LIST_GROUPS, 2, correlation_id=50)


class TestHandshake:
    @pytest.mark.parametrize("version", range(5))
    def test_exactly_what_has_a_handler_is_advertised(self, version: int) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            response = peer.ask_api_versions(version)
        assert response.error_code == ErrorCode.NONE
        assert {entry.api_key for entry in response.api_keys} == {
            ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.LIST_GROUPS, ApiKey.API_VERSIONS,
            ApiKey.DESCRIBE_GROUPS,
        }  # fmt: skip
        produce = response.api_keys[0]
        assert (produce.min_version, produce.max_version) == (0, SERVED[ApiKey.PRODUCE].last_version)

    def test_a_version_from_the_future_is_answered_in_version_0_and_the_client_asks_again(self) -> None:
        """KIP-511, and row "ApiVersions with unsupported version": 35, the connection stays."""
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            response = peer.ask_api_versions(99, read_as=0)
            assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
            (only,) = response.api_keys
            assert (only.api_key, only.min_version, only.max_version) == (ApiKey.API_VERSIONS, 0, 4)
            assert peer.ask_api_versions(only.max_version).error_code == ErrorCode.NONE

    @pytest.mark.parametrize("name", ["", "-dash", "a b", "tab\t"])
    def test_an_illegal_client_name(self, name: str) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            peer.send(api_versions_request(3, name=name))
            _, body = peer.response()
            assert body[:2] == pack(">h", ErrorCode.INVALID_REQUEST)
            peer.echo(2)


class TestOrder:
    def test_pipelined_requests(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            peer.send(b"".join(echo_request(number, b"x" * number) for number in range(500)))
            for number in range(500):
                assert peer.response() == (number, b"x" * number)

    def test_byte_by_byte(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in echo_request(1, b"slow") + echo_request(2):
                peer.send(bytes((byte,)))
            assert [peer.response(), peer.response()] == [(1, b"slow"), (2, b"")]

    def test_a_large_request_and_a_large_answer(self) -> None:
        body = bytes(range(256)) * 40_000
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            # The answer does not fit the sockets, so the broker must wait for its reader.
            peer.send(echo_request(1, body))
            peer.send(echo_request(2, b"after"))
            assert peer.response() == (1, body)
            assert peer.response() == (2, b"after")

    @pytest.mark.parametrize("window", [1, 3])
    def test_large_and_small_requests_by_turns(self, window: int) -> None:
        """After a large one, little is received at first: what comes then may be large again, small, or several."""
        sizes = [
            300_000,
            1_200_000,
            10,
            1_200_000,
            70_000,
            5_000,
            3_000,
            0,
            65_530,
            3_000_000,
            131_000,
            40,
            40,
            900_000,
        ]
        bodies = [random.Random(number).randbytes(size) for number, size in enumerate(sizes)]
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            for start in range(0, len(bodies), window):
                numbers = range(start, min(start + window, len(bodies)))
                requests = b"".join(echo_request(number, bodies[number]) for number in numbers)
                sender = threading.Thread(target=peer.send, args=(requests,))
                sender.start()
                for number in numbers:
                    assert peer.response() == (number, bodies[number])
                sender.join()
            assert running.call(lambda: running.server.buffered_bytes) == 0

    def test_requests_behind_a_parked_one_wait(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            peer.send(echo_request(1) + PARKED + echo_request(2, b"behind"))
            assert peer.response() == (1, b"")
            running.wait_until(lambda: bool(running.parked))
            peer.send(echo_request(3, b"sent while it waits"))
            running.call(lambda: running.parked[0].answer(b"woken"))
            assert [peer.response() for _ in range(3)] == [
                (50, b"woken"), (2, b"behind"), (3, b"sent while it waits"),
            ]  # fmt: skip

    def test_a_parked_request_holds_up_nobody_else(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as waiting, KafkaPeer(running.address) as other:
            waiting.send(PARKED)
            running.wait_until(lambda: bool(running.parked))
            other.echo(1, b"at once")
            running.call(lambda: running.parked[0].answer(b""))
            assert waiting.response() == (50, b"")

    def test_a_peer_that_hangs_up_while_it_waits_is_noticed(self) -> None:
        with RunningServer() as running:
            with KafkaPeer(running.address) as peer:
                peer.send(PARKED)
                running.wait_until(lambda: bool(running.parked))
            running.wait_until(lambda: running.server.connection_count == 0)
            assert running.parked[0].connection.is_closed
            running.call(lambda: running.parked[0].answer(b"nobody hears it"))

    def test_a_request_without_answer(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            peer.send(framed_request(ApiKey.PRODUCE, 9))
            peer.echo(2)
            assert running.call(running.server.traffic).requests == 2


class TestBadBytes:
    """Reliability 7.2, the rows about frames: close, allocate nothing, others go on."""

    @pytest.mark.parametrize(
        "stream",
        [
            b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
            bytes.fromhex("16030100c8010000c40303"),
            pack(">i", -1),
            pack(">i", 104_857_601),
            pack(">i", 0),
            pack(">i", 7) + bytes(7),
            framed_request(ApiKey.METADATA, 9),
            pack(">ihhih", 10, 999, 0, 1, -1),
            framed_request(ApiKey.API_VERSIONS, 3, body=b"\xff\xff\xff\xff\xff\xff"),
        ],
    )
    def test_closes(self, stream: bytes) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as good, KafkaPeer(running.address) as bad:
            bad.send(echo_request(1) + stream)
            assert bad.response() == (1, b"")
            assert bad.is_closed_by_broker()
            good.echo(1)
            assert running.call(lambda: running.server.counters.closed_for_protocol) == 1

    def test_a_handler_that_fails_closes_its_connection_only(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as good, KafkaPeer(running.address) as bad:
            bad.send(framed_request(ApiKey.LEAVE_GROUP, 0))
            assert bad.is_closed_by_broker()
            good.echo(1)


class TestStop:
    def test_an_answer_that_is_being_sent_arrives_whole(self) -> None:
        body = bytes(range(256)) * 40_000
        with RunningServer() as running, KafkaPeer(running.address, 4096) as reader, KafkaPeer(running.address) as idle:
            reader.send(echo_request(1, body))
            running.wait_until(lambda: any(channel.outbox for channel in running.server._channels))
            stopped = running.begin_stop()
            assert idle.is_closed_by_broker()
            assert reader.response() == (1, body)
            assert reader.is_closed_by_broker()
            stopped.result(10)
            assert running.call(lambda: running.server.counters.closed) == 2

    def test_nobody_is_accepted_any_more(self) -> None:
        with RunningServer() as running:
            running.begin_stop().result(10)
            with pytest.raises(ConnectionRefusedError):
                KafkaPeer(running.address)

    def test_answers_given_just_before_arrive(self) -> None:
        """Handlers that stop first answer what they have parked."""

        with RunningServer() as running, KafkaPeer(running.address) as peer:
            peer.send(PARKED)
            running.wait_until(lambda: bool(running.parked))

            async def answer_and_stop() -> None:
                running.parked[0].answer(b"last")
                await running.server.stop()

            running.run(answer_and_stop())
            assert peer.response() == (50, b"last")
            assert peer.is_closed_by_broker()

    def test_a_peer_that_takes_nothing_is_not_waited_for(self) -> None:
        settings = NetworkSettings(socket_stop_timeout_ms=20)
        with RunningServer(settings) as running, KafkaPeer(running.address, 4096) as peer:
            peer.send(echo_request(1, bytes(8 * 2**20)))
            running.wait_until(lambda: any(channel.outbox for channel in running.server._channels))
            running.begin_stop().result(10)
            assert running.server.connection_count == 0

    def test_parked_requests_are_dropped(self) -> None:
        with RunningServer() as running, KafkaPeer(running.address) as peer:
            peer.send(PARKED)
            running.wait_until(lambda: bool(running.parked))
            running.begin_stop().result(10)
            assert peer.is_closed_by_broker()


class TestAddresses:
    @pytest.mark.parametrize(("host", "reached_by"), [("::1", "::1"), ("", "127.0.0.1"), ("", "::1")])
    def test_both_protocols(self, host: str, reached_by: str) -> None:
        with RunningServer(host=host) as running, KafkaPeer((reached_by, running.address[1])) as peer:
            peer.send(PARKED)
            running.wait_until(lambda: bool(running.parked))
            connection = running.parked[0].connection
            assert connection.peer_host == reached_by
            assert connection.local_address == (reached_by, running.address[1])

    def test_all_addresses_of_a_name_have_one_port(self) -> None:
        with RunningServer(host="localhost") as running:
            assert len({port for _, port in running.addresses}) == 1

    def test_an_address_that_is_not_ours(self) -> None:
        with pytest.raises(OSError, match="assign"):
            RunningServer(host="192.0.2.1").__enter__()
