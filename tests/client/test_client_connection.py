"""One connection over a real socket, to a peer that follows a script: order, limits, silence, strangers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.client.scripted_broker import HANG_UP, SILENCE, ScriptedBroker, framed, in_turn

from strandline.client.connection import Connection
from strandline.client.failures import BrokerUnreachable, ClientError
from strandline.client.settings import Address, ClientSettings
from strandline.wire.codec import encode
from strandline.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from strandline.wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from strandline.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from strandline.wire.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from strandline.wire.versions import SPOKEN, ApiKey

Scene = Callable[[ScriptedBroker], Coroutine[Any, Any, None]]


def play(scene: Scene, broker_versions: dict[int, tuple[int, int]] | None = None) -> ScriptedBroker:
    async def run() -> ScriptedBroker:
        async with ScriptedBroker(versions=broker_versions) as broker:
            broker.answers[HeartbeatRequest] = lambda request: HeartbeatResponse(error_code=request.generation_id)
            await scene(broker)
        return broker

    return asyncio.run(run())


async def connect(broker: ScriptedBroker, **settings: Any) -> Connection:
    return await Connection.open(Address("127.0.0.1", broker.port), broker.settings(**settings))


def beat(connection: Connection, number: int) -> asyncio.Future[HeartbeatResponse]:
    return connection.send(HeartbeatRequest("g", number, "m"), HeartbeatResponse)


def test_the_highest_version_that_both_know_is_spoken() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        connection = await connect(broker)
        await beat(connection, 1)
        assert connection.versions.serves(ApiKey.HEARTBEAT)
        assert not connection.versions.serves(ApiKey.FETCH)
        with pytest.raises(ClientError, match="does not know Fetch"):
            await connection.ask(FetchRequest(), FetchResponse)
        await connection.closed()

    broker = play(scene, {ApiKey.API_VERSIONS: (0, 4), ApiKey.HEARTBEAT: (0, 2)})
    assert broker.versions_spoken == [("ApiVersions", 4), ("Heartbeat", 2)]


def test_what_brokers_say_to_each_other_is_not_told_to_clients_and_spoken_all_the_same() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        broker.answers[StopReplicaRequest] = lambda _: StopReplicaResponse(error_code=7)
        connection = await connect(broker)
        assert (await connection.ask(StopReplicaRequest(), StopReplicaResponse)).error_code == 7
        await connection.closed()

    newest = SPOKEN[ApiKey.STOP_REPLICA].last_version
    assert play(scene, {ApiKey.API_VERSIONS: (0, 4)}).versions_spoken == [("ApiVersions", 4), ("StopReplica", newest)]
    assert play(scene, {18: (0, 4), ApiKey.STOP_REPLICA: (0, 2)}).versions_spoken[1:] == [("StopReplica", 2)]


def test_a_broker_that_is_too_old_or_too_new_is_told_apart() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        connection = await connect(broker)
        with pytest.raises(ClientError, match=r"speaks versions 0 to 3 of Fetch, this client 4 to 18"):
            await connection.ask(FetchRequest(), FetchResponse)
        with pytest.raises(ClientError, match=r"speaks versions 90 to 91 of Heartbeat"):
            await beat(connection, 1)
        await connection.closed()

    play(scene, {ApiKey.API_VERSIONS: (0, 4), ApiKey.FETCH: (0, 3), ApiKey.HEARTBEAT: (90, 91)})


def test_a_broker_that_does_not_know_our_api_versions_is_asked_once_more() -> None:
    """KIP-511: the refusal comes in version 0 and names what the broker knows of this API."""
    refusal = encode(ApiVersionsResponse(35, [ApiVersion(ApiKey.API_VERSIONS, 0, 2)]), 0)
    good = ApiVersionsResponse(0, [ApiVersion(ApiKey.HEARTBEAT, 0, 4)])

    async def scene(broker: ScriptedBroker) -> None:
        broker.answers[ApiVersionsRequest] = in_turn(framed(0, refusal), good)
        connection = await connect(broker)
        assert (await beat(connection, 7)).error_code == 7
        await connection.closed()

    assert play(scene).versions_spoken == [("ApiVersions", 4), ("ApiVersions", 2), ("Heartbeat", 4)]


def test_many_requests_are_under_way_and_answered_in_order() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        connection = await connect(broker)
        answers = [beat(connection, number) for number in range(50)]
        assert connection.in_flight == 50
        assert [(await answer).error_code for answer in answers] == list(range(50))
        assert connection.in_flight == 0
        await connection.closed()

    play(scene)


def test_asking_waits_for_a_place() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        most = 0

        def count(request: HeartbeatRequest) -> HeartbeatResponse:
            nonlocal most
            most = max(most, connection.in_flight)
            return HeartbeatResponse(error_code=request.generation_id)

        broker.answers[HeartbeatRequest] = count
        connection = await connect(broker, max_in_flight_requests_per_connection=2)
        asks = [connection.ask(HeartbeatRequest("g", n, "m"), HeartbeatResponse) for n in range(20)]
        assert sorted(answer.error_code for answer in await asyncio.gather(*asks)) == list(range(20))
        assert most == 2
        await connection.closed()

    play(scene)


def test_a_place_that_was_given_to_a_caller_who_left_is_given_on() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        connection = await connect(broker, max_in_flight_requests_per_connection=1)
        first = beat(connection, 1)
        leaver, other = (
            asyncio.create_task(connection.ask(HeartbeatRequest("g", n, "m"), HeartbeatResponse)) for n in (2, 3)
        )
        await asyncio.sleep(0)
        first.add_done_callback(lambda _: leaver.cancel())
        await first
        assert (await asyncio.wait_for(other, 5)).error_code == 3
        assert leaver.cancelled()
        await connection.closed()

    play(scene)


def test_an_answer_whose_caller_left_disturbs_nobody() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        connection = await connect(broker)
        gone, there = beat(connection, 1), beat(connection, 2)
        gone.cancel()
        assert (await there).error_code == 2
        await connection.closed()

    play(scene)


def test_silence_ends_the_connection_and_all_that_is_under_way() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        broker.answers[HeartbeatRequest] = lambda _: SILENCE
        connection = await connect(broker, request_timeout_ms=30)
        answers = [beat(connection, 1), beat(connection, 2)]
        for answer in answers:
            with pytest.raises(BrokerUnreachable, match="did not answer Heartbeat within 30 ms"):
                await answer
        assert not connection.is_open
        with pytest.raises(BrokerUnreachable):
            await connection.ask(HeartbeatRequest(), HeartbeatResponse)

    play(scene)


def test_a_peer_that_hangs_up_fails_what_is_under_way() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        broker.answers[HeartbeatRequest] = lambda _: HANG_UP
        connection = await connect(broker)
        with pytest.raises(BrokerUnreachable, match="closed the connection"):
            await beat(connection, 1)

    play(scene)


def test_an_answer_to_another_request_is_not_taken() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        broker.answers[HeartbeatRequest] = lambda _: framed(77, b"\0" * 7)
        connection = await connect(broker)
        with pytest.raises(ClientError, match="correlation id 77"):
            await beat(connection, 1)
        assert not connection.is_open

    play(scene)


def test_an_answer_that_cannot_be_read_is_said_to_be_one() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        broker.answers[HeartbeatRequest] = lambda _: framed(1, b"\0\0")
        connection = await connect(broker)
        with pytest.raises(ClientError, match="HeartbeatResponse version 4"):
            await beat(connection, 1)

    play(scene)


@pytest.mark.parametrize(
    ("greeting", "sentence"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is a web server, not a broker"),
        (b"\x15\x03\x03\x00\x02\x02\x0a", "speaks TLS"),
        (b"\xff\xff\xff\xff", "sizes are not negative"),
        (b"\x7f\xff\xff\xff....", "a frame of 2147483647 bytes"),
    ],
)
def test_a_stranger_is_recognised(greeting: bytes, sentence: str) -> None:
    async def scene(broker: ScriptedBroker) -> None:
        broker.answers[ApiVersionsRequest] = lambda _: greeting
        with pytest.raises(ClientError, match=sentence):
            await connect(broker)

    play(scene)


def test_nobody_at_an_address_says_how_to_start_somebody() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        broker.stop()
        with pytest.raises(BrokerUnreachable, match=rf"no broker at 127.0.0.1:{broker.port}: start one"):
            await connect(broker)
        with pytest.raises(BrokerUnreachable, match=r"there is no host 'nobody.invalid'"):
            await Connection.open(Address("nobody.invalid", 9092), ClientSettings())

    play(scene)


def test_a_host_that_accepts_and_says_nothing_is_given_up() -> None:
    async def scene(broker: ScriptedBroker) -> None:
        broker.answers[ApiVersionsRequest] = lambda _: SILENCE
        with pytest.raises(BrokerUnreachable, match=r"no broker answered at .* within 30 ms"):
            await connect(broker, socket_connection_setup_timeout_ms=30)

    play(scene)


@pytest.mark.parametrize("records_bytes", [10, 60_000, 70_000, 3_000_000])
def test_records_stay_what_they_were_while_more_arrives(records_bytes: int) -> None:
    """Records are views of their frame: the next frame must not write over them."""

    def fetched(request: FetchRequest) -> FetchResponse:
        fill = bytes([request.max_wait_ms]) * records_bytes
        return FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(records=fill)])])

    async def scene(broker: ScriptedBroker) -> None:
        broker.answers[FetchRequest] = fetched
        connection = await connect(broker)
        asked = [connection.send(FetchRequest(max_wait_ms=number), FetchResponse) for number in range(5)]
        answers = [await answer for answer in asked]
        for number, answer in enumerate(answers):
            records = answer.responses[0].partitions[0].records
            assert isinstance(records, memoryview)
            assert bytes(records) == bytes([number]) * records_bytes
        await connection.closed()

    play(scene)


def test_who_wants_it_hears_of_a_large_answer_as_it_comes() -> None:
    """And in the end of all of it: what was heard before is its beginning."""
    heard: list[bytes] = []

    async def scene(broker: ScriptedBroker) -> None:
        records = bytes(range(256)) * 4_096
        topics = [FetchableTopicResponse(topic_id=bytes(16), partitions=[PartitionData(0, records=records)])]
        response = FetchResponse(responses=topics)
        broker.answers[FetchRequest] = lambda _: response
        connection = await connect(broker)
        told = asyncio.get_running_loop().create_future()
        connection.send_then(
            FetchRequest(),
            FetchResponse,
            told.set_result,
            version=17,
            timeout_ms=10_000,
            hear_begun=lambda body: heard.append(bytes(body)),
        )
        await told
        body = encode(response, 17)
        assert heard, "a megabyte does not come in one piece: the buffer begins with less"
        assert heard == sorted(heard, key=len)
        assert all(body.startswith(each) and len(each) < len(body) for each in heard)
        await connection.closed()

    play(scene)
