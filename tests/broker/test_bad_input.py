"""Reliability.md §7.2 against a whole broker: each row has its test, its answer and its code.

The rows about Produce are in `test_bad_input_produce`, those about sockets and time in `test_server` and
`test_server_limits`. `docs/bad-input.md` has the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest
from tests.broker.bad_input_scene import Scene, peak_resident_kib, scene_of
from tests.broker.kafka_peer import framed_request
from tests.broker.running_broker import batch_of

from strandline.model.failures import ErrorCode
from strandline.replication.events import NO_LEADER, LeaderAndIsr
from strandline.wire.codec import encode, request_class
from strandline.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig
from strandline.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from strandline.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from strandline.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from strandline.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from strandline.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from strandline.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from strandline.wire.versions import INTER_BROKER, SERVED, SPOKEN, ApiKey

MIB = 2**20
ENTRIES_MAX = 1_000
TOPICS_MAX = 5
TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    settings = {
        "group_initial_rebalance_delay_ms": "0",
        "group_max_size": "1",
        "max_entries_per_request": str(ENTRIES_MAX),
        "max_partitions_per_request": str(TOPICS_MAX),
        "offsets_topic_num_partitions": "1",
    }
    with scene_of(str(tmp_path_factory.mktemp("parent") / "data"), **settings) as scene:
        yield scene


# Frames and bodies.


def closes(scene: Scene, stream: bytes) -> bool:
    """Whether that is the broker's answer."""
    with scene.running.peer() as peer:
        peer.send(stream)
        return peer.is_closed_by_broker()


def test_apis_and_versions_that_are_not_served(scene: Scene) -> None:
    """Row "unknown api key, disabled API/version": close. ApiVersions alone has an answer for any version."""
    advertised = {each.api_key for each in scene.peer.ask_api_versions(3).api_keys}
    for key in (*INTER_BROKER, *SERVED.keys() - advertised):
        assert closes(scene, framed_request(key, (SERVED | INTER_BROKER)[key].last_version))
    for key in advertised - {ApiKey.API_VERSIONS}:
        for version in (SPOKEN[key].first_version - 1, SPOKEN[key].last_version + 1, -1):
            assert closes(scene, framed_request(key, version))
    assert closes(scene, framed_request(ApiKey.HEARTBEAT, 0).replace(b"\0\x0c\0\0", b"\x03\xe7\0\0", 1))
    assert scene.serves_on()


def test_bodies_that_are_too_short(scene: Scene) -> None:
    """Row "body too short": close, whatever the API."""
    for key in {each.api_key for each in scene.peer.ask_api_versions(3).api_keys}:
        for version in {SPOKEN[key].first_version, SPOKEN[key].last_version}:
            body = encode(request_class(key)(), version)
            assert not body or closes(scene, framed_request(key, version, body=body[:-1])), (ApiKey(key), version)
    assert scene.running.call(lambda: scene.running.broker.dispatch.failures) == 0
    assert scene.serves_on()


ONE_TOPIC = pack(
    ">hhiih6si", -1, 1, 1_000, 1, 6, b"orders", 1
)  # a Produce request of an old version, up to its partition


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (ApiKey.METADATA, 1, pack(">i", -2)),
        (ApiKey.METADATA, 1, pack(">i", 2**31 - 1)),
        (ApiKey.METADATA, 12, b"\xff\xff\xff\xff\x07"),
        (ApiKey.METADATA, 12, b"\xff\xff\xff\xff\xff\x01"),
        (ApiKey.FIND_COORDINATOR, 0, pack(">h", -2)),
        (ApiKey.FIND_COORDINATOR, 0, pack(">h", 2**15 - 1)),
        (ApiKey.FIND_COORDINATOR, 3, b"\xff\xff\xff\xff\x07"),
        (ApiKey.FIND_COORDINATOR, 3, b"\xff\xff\xff\xff\xff\x01"),
        (ApiKey.PRODUCE, 3, ONE_TOPIC + pack(">ii", 0, -2)),
        (ApiKey.PRODUCE, 3, ONE_TOPIC + pack(">ii", 0, 2**31 - 1)),
        (ApiKey.HEARTBEAT, 4, b"\x02g" + bytes(4) + b"\x02m" + b"\0" + b"\xff\xff\xff\xff\x07"),
    ],
)
def test_lengths_that_lie(scene: Scene, api_key: ApiKey, version: int, body: bytes) -> None:
    """Row "negative or too large array/string length, varint > 5 bytes": close; nothing is allocated for a claim."""
    before_kib = peak_resident_kib(reset=True)
    for _ in range(10):
        assert closes(scene, framed_request(api_key, version, body=body + b"more"))
    assert peak_resident_kib() - before_kib < 16 * 1024
    assert scene.running.call(lambda: scene.running.broker.dispatch.failures) == 0


def names(count: int) -> MetadataRequest:
    return MetadataRequest([MetadataRequestTopic(name=f"no topic {index}") for index in range(count)])


def test_more_entries_than_one_request_may_have(scene: Scene) -> None:
    """Row "10⁶ topic names, 10⁶-entry arrays": close where the count passes `max.entries.per.request`, at once."""
    assert len(scene.peer.ask(names(ENTRIES_MAX), 12, MetadataResponse).topics) == ENTRIES_MAX
    one_more = encode(names(ENTRIES_MAX + 1), 12)
    a_million = pack(">i", 10**6) + b"\0\x01a" * 10**6
    partitions = [ListOffsetsPartition(index) for index in range(ENTRIES_MAX // 10)]
    nested = encode(ListOffsetsRequest(topics=[ListOffsetsTopic("a", partitions)] * 10), 5)
    for api_key, version, body in (
        (ApiKey.METADATA, 12, one_more),
        (ApiKey.METADATA, 1, a_million),
        (ApiKey.LIST_OFFSETS, 5, nested),
    ):
        assert closes(scene, framed_request(api_key, version, body=body))
    assert scene.serves_on()


def test_a_few_topics_are_created_by_asking_for_many(scene: Scene) -> None:
    """The same row: what a question may create is bounded, too. Clients ask again for those that are not there."""
    asked = MetadataRequest([MetadataRequestTopic(name=f"asked-{index}") for index in range(2 * TOPICS_MAX)])
    for found in (TOPICS_MAX, 2 * TOPICS_MAX):
        codes = [topic.error_code for topic in scene.peer.ask(asked, 12, MetadataResponse).topics]
        assert codes == [0] * found + [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * (2 * TOPICS_MAX - found)


# Reading.


def fetch(scene: Scene, topic: str, offset: int, epoch: int = -1) -> PartitionData:
    wanted = FetchPartition(0, epoch, offset, partition_max_bytes=MIB)
    asked = FetchRequest(topics=[FetchTopic(topic, partitions=[wanted])])
    return scene.peer.ask(asked, 11, FetchResponse).responses[0].partitions[0]


def delete_records(scene: Scene, topic: str, offset: int) -> int:
    asked = DeleteRecordsRequest([DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, offset)])], 1_000)
    return scene.peer.ask(asked, 2, DeleteRecordsResponse).topics[0].partitions[0].error_code


def test_offsets_out_of_range(scene: Scene) -> None:
    """Row "fetch below log start, above end": 1."""
    topic = scene.topic()
    scene.append(topic, *[batch_of(b"a")] * 3)
    assert delete_records(scene, topic, 2) == 0
    codes = [fetch(scene, topic, offset).error_code for offset in (-1, 1, 2, 3, 4)]
    out_of_range = ErrorCode.OFFSET_OUT_OF_RANGE
    assert codes == [out_of_range, out_of_range, 0, 0, out_of_range]


def test_leader_epochs(scene: Scene) -> None:
    """Row "fetch with older / newer leader epoch, wrong leader": 74 / 75 / 6."""
    topic = scene.topic()
    partition = scene.partition(topic)
    lead, follow_nobody = LeaderAndIsr(1, 5, (1,), (1,), 7), LeaderAndIsr(NO_LEADER, 6, (1,), (1,), 8)
    scene.running.call(lambda: partition.decide(lead, 0))
    codes = [fetch(scene, topic, 0, epoch).error_code for epoch in (4, 5, 6)]
    assert codes == [ErrorCode.FENCED_LEADER_EPOCH, 0, ErrorCode.UNKNOWN_LEADER_EPOCH]
    scene.running.call(lambda: partition.decide(follow_nobody, 0))
    assert fetch(scene, topic, 0, 5).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert scene.append(topic, batch_of(b"a")) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_a_partition_asked_for_twice(scene: Scene) -> None:
    """Row "ListOffsets same partition twice": 42, both times; the others have their answer."""
    topic = scene.topic()
    twice, once = ListOffsetsPartition(0, -1, -1), ListOffsetsPartition(1, -1, -1)
    topics = [ListOffsetsTopic(topic, [twice, once]), ListOffsetsTopic(topic, [twice])]
    answer = scene.peer.ask(ListOffsetsRequest(-1, 0, topics), 7, ListOffsetsResponse)
    codes = [partition.error_code for each in answer.topics for partition in each.partitions]
    assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_REQUEST]


def test_records_that_cannot_be_deleted(scene: Scene) -> None:
    """Row "DeleteRecords above HW / on topic without delete policy": 1 / 44."""
    topic, compacted = scene.topic(), scene.topic(cleanup_policy="compact")
    scene.append(topic, batch_of(b"a"))
    assert [delete_records(scene, topic, offset) for offset in (2, -2)] == [ErrorCode.OFFSET_OUT_OF_RANGE] * 2
    assert delete_records(scene, compacted, 0) == ErrorCode.POLICY_VIOLATION
    assert fetch(scene, topic, 0).error_code == 0


# Topics.

BAD_NAMES = ["", ".", "..", "../x", "x" * 250, "a/b", "a\0b", "/etc", "a\nb", "ü"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_no_topic_can_have(scene: Scene, name: str) -> None:
    """Row "topic "", ".", "..", "../x", 250 chars, "a/b", NUL": 17; the file system never hears of it."""
    (data,) = scene.running.call(lambda: scene.running.broker.directory_settings.log_dirs)
    before = [sorted(path.name for path in each.iterdir()) for each in (Path(data), Path(data).parent)]
    assert scene.create(CreatableTopic(name, 1, 1)) == ErrorCode.INVALID_TOPIC_EXCEPTION
    asked = MetadataRequest([MetadataRequestTopic(name=name)])
    (told,) = scene.peer.ask(asked, 12, MetadataResponse).topics
    assert told.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert scene.append(name, batch_of(b"a")) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert fetch(scene, name, 0).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [sorted(path.name for path in each.iterdir()) for each in (Path(data), Path(data).parent)] == before


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (CreatableTopic("new", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (CreatableTopic("new", -2, 1), ErrorCode.INVALID_PARTITIONS),
        (CreatableTopic("new", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("new", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (CreatableTopic("new", -1, -1, [CreatableReplicaAssignment(0, [9])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatableTopic("new", -1, -1, [CreatableReplicaAssignment(1, [1])]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (CreatableTopic("new", 1, 1, configs=[CreatableTopicConfig("what.ever", "1")]), ErrorCode.INVALID_CONFIG),
        (CreatableTopic("new", 1, 1, configs=[CreatableTopicConfig("retention.ms", "x")]), ErrorCode.INVALID_CONFIG),
    ],
)
def test_topics_that_cannot_be(scene: Scene, topic: CreatableTopic, code: ErrorCode) -> None:
    """Row "0 partitions / RF > brokers / bad assignment / unknown config": 37 / 38 / 39 / 40."""
    assert scene.create(topic) == code


# Groups and producers.


def join(
    scene: Scene, group: str, member_id: str = "", session_ms: int = 10_000, version: int = 9
) -> JoinGroupResponse:
    scene.peer.ask(FindCoordinatorRequest(coordinator_keys=[group]), 4, FindCoordinatorResponse)
    protocols = [JoinGroupRequestProtocol("range", b"")]
    asked = JoinGroupRequest(group, session_ms, session_ms, member_id, None, "consumer", protocols)
    return scene.peer.ask(asked, version, JoinGroupResponse)


def test_members_that_cannot_join(scene: Scene) -> None:
    """Row "JoinGroup session timeout outside its limits, no member id (v4+), full group": 26 / 79 / 81."""
    for session_ms in (5_999, 1_800_001):
        assert join(scene, "group", session_ms=session_ms).error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    first = join(scene, "group", version=4)
    assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert join(scene, "group", first.member_id).error_code == 0
    assert join(scene, "group", version=3).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def commit(
    scene: Scene, topic: str, generation: int, member_id: str, metadata: str = "", instance_id: str | None = None
) -> int:
    partitions = [OffsetCommitRequestPartition(0, 1, -1, metadata)]
    topics = [OffsetCommitRequestTopic(topic, partitions=partitions)]
    asked = OffsetCommitRequest("commits", generation, member_id, -1, instance_id, topics)
    return scene.peer.ask(asked, 8, OffsetCommitResponse).topics[0].partitions[0].error_code


def test_commits_that_are_refused(scene: Scene) -> None:
    """Row "commit with old generation / unknown member / duplicate static id / huge metadata": 22 / 25 / 82 / 12."""
    topic = scene.topic()
    scene.peer.ask(FindCoordinatorRequest(coordinator_keys=["commits"]), 4, FindCoordinatorResponse)
    protocols = [JoinGroupRequestProtocol("range", b"")]
    asked = JoinGroupRequest("commits", 10_000, 10_000, "", "static", "consumer", protocols)
    member = scene.peer.ask(asked, 9, JoinGroupResponse)
    assignments = [SyncGroupRequestAssignment(member.member_id, b"")]
    synced = SyncGroupRequest("commits", member.generation_id, member.member_id, "static", assignments=assignments)
    assert scene.peer.ask(synced, 3, SyncGroupResponse).error_code == 0
    generation, member_id = member.generation_id, member.member_id
    assert commit(scene, topic, generation - 1, member_id) == ErrorCode.ILLEGAL_GENERATION
    assert commit(scene, topic, generation, "nobody") == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(scene, topic, generation, "another", instance_id="static") == ErrorCode.FENCED_INSTANCE_ID
    assert commit(scene, topic, generation, member_id, "m" * 4_097) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert commit(scene, topic, generation, member_id, "m" * 4_096, "static") == 0


def test_an_empty_transactional_id(scene: Scene) -> None:
    """Row "InitProducerId with empty id": 42. The rest of that row belongs to transactions."""
    answer = scene.peer.ask(InitProducerIdRequest("", 1_000), 4, InitProducerIdResponse)
    assert (answer.error_code, answer.producer_id) == (ErrorCode.INVALID_REQUEST, -1)


# The table.


def test_the_table_names_tests_that_are_there() -> None:
    table = (TESTS.parent / "docs" / "bad-input.md").read_text()
    named = re.findall(r"`(\w+)::(\w+)`", table)
    assert len(named) > 30
    there = {
        (path.stem, name) for path in TESTS.rglob("test_*.py") for name in re.findall(r"def (\w+)\(", path.read_text())
    }
    assert set(named) <= there
