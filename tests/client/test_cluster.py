"""Finding the right broker: metadata, leaders, controllers and coordinators that move, brokers that die."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.client.scripted_broker import HANG_UP, ScriptedBroker, in_turn, names_of

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused, BrokerUnreachable, ClientError, NoBroker, NoTopic
from strandline.client.settings import ClientSettings, parse_address
from strandline.model.error_codes import ErrorCode
from strandline.model.settings import BadSetting
from strandline.wire.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from strandline.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from strandline.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from strandline.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from strandline.wire.versions import ApiKey

Scene = Callable[[ScriptedBroker, ScriptedBroker], Coroutine[Any, Any, None]]


def play(scene: Scene) -> tuple[ScriptedBroker, ScriptedBroker]:
    """With two brokers that know each other."""

    async def run() -> tuple[ScriptedBroker, ScriptedBroker]:
        async with ScriptedBroker(1) as one, ScriptedBroker(2) as two:
            one.peers = two.peers = [one, two]
            one.leaders = two.leaders = {"orders": [1, 2]}
            await scene(one, two)
        return one, two

    return asyncio.run(run())


def created(code: int) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[CreatableTopicResult("new", error_code=code)])


def codes(response: CreateTopicsResponse) -> list[int]:
    return [topic.error_code for topic in response.topics]


def test_the_view_has_brokers_topics_and_leaders() -> None:
    async def scene(one: ScriptedBroker, two: ScriptedBroker) -> None:
        async with Cluster(one.settings()) as cluster:
            topic = (await cluster.topics(["orders"]))["orders"]
            assert [partition.leader_id for partition in topic.partitions.values()] == [1, 2]
            assert cluster.view.nodes[2].address.port == two.port
            assert cluster.view.cluster_id == "scripted"
            assert cluster.view.name_of(topic.topic_id) == "orders"
            await cluster.topics(["orders"])
            assert names_of(one.requests) == ["ApiVersions", "Metadata"]
            cluster.distrust("orders")
            await cluster.topics(["orders"])
            assert names_of(one.requests) == ["ApiVersions", "Metadata", "Metadata"]

    play(scene)


def test_a_topic_that_does_not_exist_says_how_to_make_it() -> None:
    async def scene(one: ScriptedBroker, _: ScriptedBroker) -> None:
        async with Cluster(one.settings()) as cluster:
            with pytest.raises(NoTopic, match="`strandline topic create nosuch` makes it"):
                await cluster.topics(["orders", "nosuch"])
        assert one.received(MetadataRequest)[0].allow_auto_topic_creation is False

    play(scene)


def test_a_topic_that_is_being_created_is_waited_for() -> None:
    async def scene(one: ScriptedBroker, _: ScriptedBroker) -> None:
        asked = 0

        def appearing(request: MetadataRequest) -> Any:
            nonlocal asked
            asked += 1
            one.leaders = {"new": [1]} if asked == 3 else {}
            return one.metadata(request)

        one.answers[MetadataRequest] = appearing
        async with Cluster(one.settings(allow_auto_create_topics=True)) as cluster:
            assert len((await cluster.topics(["new"]))["new"].partitions) == 1
        assert asked == 3

    play(scene)


def test_bootstrap_goes_on_to_the_next_address() -> None:
    async def scene(one: ScriptedBroker, two: ScriptedBroker) -> None:
        one.stop()
        settings = ClientSettings(bootstrap_servers=(one.address, two.address))
        async with Cluster(settings) as cluster:
            await cluster.refresh(None)
            assert list(cluster.view.topics) == ["orders"]

    play(scene)


def test_where_nobody_listens_the_first_contact_fails_at_once() -> None:
    async def scene(one: ScriptedBroker, two: ScriptedBroker) -> None:
        one.stop()
        two.stop()
        async with Cluster(one.settings()) as cluster:
            with pytest.raises(NoBroker, match=rf"^no broker at {one.address}: start one with `strandline serve`"):
                await cluster.topics(["orders"])
        settings = ClientSettings(bootstrap_servers=(one.address, two.address))
        async with Cluster(settings) as cluster:
            with pytest.raises(
                NoBroker, match=rf"^no broker can be reached at .*{one.port}, .*{two.port}: no broker at"
            ):
                await cluster.topics(["orders"])

    play(scene)


def test_a_broker_that_has_just_started_is_asked_again() -> None:
    """It knows of no broker, itself included, and so of no topic: that says nothing of what there is."""

    async def scene(one: ScriptedBroker, _: ScriptedBroker) -> None:
        untold = MetadataResponse(topics=[MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "orders")])
        told = one.metadata(MetadataRequest(None))
        one.answers[MetadataRequest] = in_turn(MetadataResponse(), MetadataResponse(), told)
        async with Cluster(one.settings()) as cluster:
            assert list((await cluster.refresh(None)).topics) == ["orders"]
        one.answers[MetadataRequest] = in_turn(untold, told)
        async with Cluster(one.settings()) as cluster:
            assert list(await cluster.topics(["orders"])) == ["orders"]
        one.answers[MetadataRequest] = in_turn(untold)
        async with Cluster(one.settings(default_api_timeout_ms=20)) as cluster:
            with pytest.raises(BrokerUnreachable, match="has just started"):
                await cluster.refresh(())

    play(scene)


def test_a_broker_that_dies_later_is_replaced_by_another() -> None:
    async def scene(one: ScriptedBroker, two: ScriptedBroker) -> None:
        async with Cluster(one.settings()) as cluster:
            await cluster.refresh(None)
            one.stop()
            await cluster.topics(["orders"], fresh=True)
            two.stop()
            with pytest.raises(BrokerUnreachable):
                await cluster.refresh(None)

    _, two = play(scene)
    assert names_of(two.requests) == ["ApiVersions", "Metadata"]


def test_the_controller_is_looked_up_again_when_it_has_moved() -> None:
    async def scene(one: ScriptedBroker, two: ScriptedBroker) -> None:
        def moved(_: CreateTopicsRequest) -> CreateTopicsResponse:
            one.controller_id = 2
            return created(ErrorCode.NOT_CONTROLLER)

        one.answers[CreateTopicsRequest] = moved
        two.answers[CreateTopicsRequest] = lambda _: created(0)
        async with Cluster(one.settings()) as cluster:
            response = await cluster.ask_controller(CreateTopicsRequest(), CreateTopicsResponse, codes)
            assert codes(response) == [0]
        assert len(one.received(CreateTopicsRequest)) == 1

    play(scene)


def test_other_refusals_are_the_callers_affair() -> None:
    async def scene(one: ScriptedBroker, _: ScriptedBroker) -> None:
        one.answers[CreateTopicsRequest] = lambda _: created(ErrorCode.TOPIC_ALREADY_EXISTS)
        async with Cluster(one.settings()) as cluster:
            response = await cluster.ask_controller(CreateTopicsRequest(), CreateTopicsResponse, codes)
            assert codes(response) == [ErrorCode.TOPIC_ALREADY_EXISTS]
        assert len(one.received(CreateTopicsRequest)) == 1

    play(scene)


def test_a_call_that_is_never_served_ends_at_its_deadline() -> None:
    async def scene(one: ScriptedBroker, _: ScriptedBroker) -> None:
        one.answers[CreateTopicsRequest] = lambda _: created(ErrorCode.NOT_CONTROLLER)
        async with Cluster(one.settings(default_api_timeout_ms=400)) as cluster:
            with pytest.raises(ClientError, match=r"NOT_CONTROLLER.*given up after 400 ms"):
                await cluster.ask_controller(CreateTopicsRequest(), CreateTopicsResponse, codes)
        assert len(one.received(CreateTopicsRequest)) > 2

    play(scene)


@pytest.mark.parametrize("version", [3, 6])
def test_a_coordinator_is_found_lost_and_found(version: int) -> None:
    """FindCoordinator asks for one key up to version 3 and for several from 4 (KIP-699)."""

    def at(broker: ScriptedBroker) -> FindCoordinatorResponse:
        place = Coordinator("g", broker.node_id, "127.0.0.1", broker.port)
        return FindCoordinatorResponse(node_id=place.node_id, host=place.host, port=place.port, coordinators=[place])

    async def scene(one: ScriptedBroker, two: ScriptedBroker) -> None:
        one.versions = {**one.versions, ApiKey.FIND_COORDINATOR: (0, version)}
        one.answers[FindCoordinatorRequest] = in_turn(at(one), at(two))
        one.answers[HeartbeatRequest] = in_turn(HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR), HANG_UP)
        two.answers[HeartbeatRequest] = lambda _: HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        async with Cluster(one.settings()) as cluster:
            response = await cluster.ask_coordinator(
                "g", HeartbeatRequest("g"), HeartbeatResponse, lambda answer: [answer.error_code]
            )
            assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID

    one, _ = play(scene)
    assert len(one.received(FindCoordinatorRequest)) == 2
    assert ("FindCoordinator", version) in one.versions_spoken


def test_a_coordinator_that_does_not_exist_is_a_refusal() -> None:
    async def scene(one: ScriptedBroker, _: ScriptedBroker) -> None:
        refusal = Coordinator("g", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED, error_message="no entry for g.")
        one.answers[FindCoordinatorRequest] = lambda _: FindCoordinatorResponse(coordinators=[refusal])
        async with Cluster(one.settings()) as cluster:
            with pytest.raises(BrokerRefused, match=r"^group g: no entry for g \(GROUP_AUTHORIZATION_FAILED\)$"):
                await cluster.coordinator("g")

    play(scene)


def test_an_address_that_nobody_listens_at_names_the_broker_that_claims_it() -> None:
    async def scene(one: ScriptedBroker, two: ScriptedBroker) -> None:
        two.stop()
        async with Cluster(one.settings()) as cluster:
            await cluster.refresh(())
            with pytest.raises(BrokerUnreachable, match=rf"broker 2 says it is at {two.address}, but: no broker at"):
                await cluster.broker(2)
            with pytest.raises(BrokerUnreachable, match="broker 9 is not among the live brokers"):
                await cluster.broker(9)

    play(scene)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("localhost:9092", "localhost", 9092),
        ("broker.example", "broker.example", 9092),
        ("[::1]:19092", "::1", 19092),
        ("PLAINTEXT://10.0.0.1:1", "10.0.0.1", 1),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert parse_address(text) == (host, port)


@pytest.mark.parametrize("text", ["", ":9092", "host:port", "host:70000", "host:0", "::1", "a b:1", "host:1/path"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(BadSetting, match="write host:port"):
        parse_address(text)


def test_settings_by_kafkas_names_and_no_others() -> None:
    settings = ClientSettings.of({"bootstrap.servers": "a:1, b:2", "acks": "1", "linger.ms": "7"})
    assert [str(address) for address in settings.addresses()] == ["a:1", "b:2"]
    assert (settings.required_acks, settings.linger_ms) == (1, 7)
    for name, sentence in (
        ("compresion.type", "did you mean compression.type?"),
        ("qqq", "qqq is not a setting of the client"),
        ("security.protocol", "choose from PLAINTEXT"),
    ):
        with pytest.raises(BadSetting, match=sentence.replace("?", r"\?")):
            ClientSettings.of({name: "x"})
    with pytest.raises(BadSetting, match="choose from 0, 1, all"):
        ClientSettings.of({"acks": "2"})
