"""Reliability.md §7.2, the rows about Produce, against a whole broker: each row has its test, its answer and its code.

Every bad batch is sent as the first of a connection and again after a good one, for requests that look alike have a
short way of their own; and the log must be as it was. `docs/bad-input.md` has the table.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from struct import pack_into

import pytest
from tests.broker.bad_input_scene import Scene, peak_resident_kib, scene_of
from tests.broker.running_broker import batch_of

from strandline.model.failures import ErrorCode
from strandline.records.batch import (
    ATTRIBUTES_POSITION,
    CONTROL,
    CRC_POSITION,
    HEAD_BYTES,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    batch_crc,
)
from strandline.records.builder import build_batch, seal_batch
from strandline.records.compression import Codec
from strandline.records.record import Record
from strandline.replication.events import LeaderAndIsr
from strandline.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from strandline.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from strandline.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

GOOD = batch_of(b"good")
HOUR_MS = 3_600_000
BATCH_LENGTH_POSITION, LAST_OFFSET_DELTA_POSITION, RECORD_COUNT_POSITION = 8, 23, 57


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with scene_of(str(tmp_path_factory.mktemp("data"))) as scene:
        yield scene


def with_field(batch: bytearray, form: str, position: int, value: int, *, seal: bool = True) -> bytearray:
    """One field of the head as nobody should write it; the CRC is right unless told otherwise."""
    changed = bytearray(batch)
    pack_into(form, changed, position, value)
    if seal:
        pack_into(">I", changed, CRC_POSITION, batch_crc(changed))
    return changed


def keyed(value: bytes) -> bytearray:
    return build_batch([Record(0, 1_000, b"key", value)])


def compressed(section: bytes) -> bytearray:
    """A zstd batch of one record, its section already compressed, or said to be."""
    plain = seal_batch(
        section, base_offset=0, last_offset_delta=0, base_timestamp=1_000, max_timestamp=1_000, record_count=1
    )
    return with_field(plain, ">h", ATTRIBUTES_POSITION, Codec.ZSTD)


def zstd_bomb(size_bytes: int) -> bytes:
    """A frame of blocks that each repeat one byte 131,072 times and take four bytes themselves."""
    block_bytes, repeated = 128 * 1024, 1
    count = size_bytes // block_bytes
    block = (repeated << 1 | block_bytes << 3).to_bytes(3, "little") + b"\0"
    last = (1 | repeated << 1 | block_bytes << 3).to_bytes(3, "little") + b"\0"
    return bytes.fromhex("28b52ffd0038") + block * (count - 1) + last


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_acks_that_mean_nothing(scene: Scene, acks: int) -> None:
    """Row "Produce acks=2": 21 for each partition, however often it is sent; the log is untouched."""
    topic = scene.topic()
    assert scene.append(topic, GOOD, GOOD, GOOD, acks=acks) == [ErrorCode.INVALID_REQUIRED_ACKS] * 3
    assert scene.log_end_offset(topic) == 0


@pytest.mark.parametrize("what", ["unknown topic", "unknown partition", "corrupt batch", "internal topic"])
def test_acks_0_with_an_error(scene: Scene, what: str) -> None:
    """Row "acks=0 with any error": the connection is closed, for there is no answer to put it in."""
    topic = {"unknown topic": "nowhere", "internal topic": "__consumer_offsets"}.get(what) or scene.topic()
    batch = with_field(GOOD, ">h", ATTRIBUTES_POSITION, 1, seal=False) if what == "corrupt batch" else GOOD
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(9 if "partition" in what else 0, bytes(batch))])
    with scene.running.peer() as peer:
        peer.tell(ProduceRequest(None, 0, 1_000, [data]), 9)
        assert peer.is_closed_by_broker()
    assert scene.serves_on()


def test_where_nothing_may_be_written(scene: Scene) -> None:
    """Row "unknown topic / transactional batch without id": 3 / 53. ACLs are not served."""
    topic = scene.topic()
    assert scene.append("nowhere", GOOD) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    transactional = batch_of(b"a", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    without_id = scene.refusal(topic, transactional, GOOD)
    assert without_id == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    # With an id it would be in a transaction that nobody ends: what is read committed would stop here for ever.
    assert scene.produce_transactionally(topic, transactional, "id") == ErrorCode.NOT_ENOUGH_REPLICAS
    scene.peer.ask(FindCoordinatorRequest("id", 1), 3, FindCoordinatorResponse)
    assert scene.produce_transactionally(topic, transactional, "id") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    asked = FetchRequest(isolation_level=1, topics=[FetchTopic(topic, partitions=[FetchPartition(0)])])
    (found,) = scene.peer.ask(asked, 11, FetchResponse).responses[0].partitions
    assert found.last_stable_offset == found.high_watermark == 1


@pytest.mark.parametrize(
    "bad",
    [
        with_field(GOOD, ">I", CRC_POSITION, 1, seal=False),
        with_field(GOOD, ">i", BATCH_LENGTH_POSITION, len(GOOD), seal=False),
        with_field(GOOD, ">i", BATCH_LENGTH_POSITION, HEAD_BYTES - 12, seal=False),
        with_field(GOOD, ">i", BATCH_LENGTH_POSITION, -1, seal=False),
        with_field(GOOD, ">b", MAGIC_POSITION, 3),
        with_field(GOOD, ">b", MAGIC_POSITION, -1),
    ],
    ids=["crc", "longer than it is", "shorter than it is", "negative length", "magic 3", "magic -1"],
)
def test_corrupt_batches(scene: Scene, bad: bytearray) -> None:
    """Row "bad CRC, wrong batch length, bad magic byte": 2."""
    assert scene.refusal(scene.topic(), bad, GOOD) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "bad",
    [
        with_field(GOOD, ">b", MAGIC_POSITION, 1),
        with_field(GOOD, ">b", MAGIC_POSITION, 0),
        b"",
        b"too short",
        GOOD + GOOD,
        with_field(GOOD, ">h", ATTRIBUTES_POSITION, CONTROL),
        with_field(GOOD, ">i", RECORD_COUNT_POSITION, 2),
        with_field(GOOD, ">i", RECORD_COUNT_POSITION, -1),
        with_field(GOOD, ">i", LAST_OFFSET_DELTA_POSITION, 7),
    ],
    ids=["magic 1", "magic 0", "none", "too short", "two", "control", "count", "negative count", "offset delta"],
)
def test_what_is_not_one_batch_of_a_client(scene: Scene, bad: bytearray) -> None:
    """Row "v≥3 with magic<2, 0 or 2 batches, control batch, count or offset delta": 87."""
    assert scene.refusal(scene.topic(), bad, GOOD) == ErrorCode.INVALID_RECORD


def test_a_compacted_topic_needs_keys(scene: Scene) -> None:
    """Row "null key on compacted topic": 87."""
    topic = scene.topic(cleanup_policy="compact")
    assert scene.refusal(topic, batch_of(b"no key"), keyed(b"value")) == ErrorCode.INVALID_RECORD


def test_zstd_before_version_7(scene: Scene) -> None:
    """Row "zstd with Produce v<7": 76."""
    bad = build_batch([Record(0, 1_000, None, b"a" * 500)], codec=Codec.ZSTD)
    assert scene.refusal(scene.topic(), bad, GOOD, version=6) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert scene.append(scene.topic(), bad, version=7) == [0]


def test_timestamps_outside_the_limits(scene: Scene) -> None:
    """Row "timestamp outside limits": 32; an hour ahead of the broker by default, as long ago as the topic says."""
    now_ms = time.time_ns() // 1_000_000
    late = batch_of(b"a", timestamp=now_ms + 2 * HOUR_MS)
    assert scene.refusal(scene.topic(), late, GOOD) == ErrorCode.INVALID_TIMESTAMP
    topic = scene.topic(message_timestamp_before_max_ms="60000")
    assert scene.refusal(topic, GOOD, batch_of(b"a", timestamp=now_ms)) == ErrorCode.INVALID_TIMESTAMP
    assert scene.append(topic, batch_of(b"a", timestamp=NO_TIMESTAMP)) == [0]


def test_batches_that_are_too_large(scene: Scene) -> None:
    """Row "batch > max.message.bytes / > segment": 10 / 18."""
    large = batch_of(b"a" * 2_000_000)
    assert scene.refusal(scene.topic(), large, GOOD) == ErrorCode.MESSAGE_TOO_LARGE
    topic = scene.topic(max_message_bytes="4000000", segment_bytes="1048576")
    assert scene.refusal(topic, large, GOOD) == ErrorCode.RECORD_LIST_TOO_LARGE


@pytest.mark.parametrize("settings", [{"cleanup_policy": "compact"}, {"compression_type": "lz4"}])
@pytest.mark.parametrize("what", ["10 GB", "cut short", "not zstd"])
def test_compressed_bytes_that_blow_up(scene: Scene, settings: dict[str, str], what: str) -> None:
    """Row "decompression bomb, truncated compressed data": 87, where the broker has to look inside at all."""
    bomb = zstd_bomb(10 * 2**30)
    bad = compressed({"10 GB": bomb, "cut short": bomb[:1_000], "not zstd": b"anything"}[what])
    before_kib = peak_resident_kib(reset=True)
    assert scene.refusal(scene.topic(**settings), bad, keyed(b"value")) == ErrorCode.INVALID_RECORD
    assert peak_resident_kib() - before_kib < 700 * 1024
    assert scene.serves_on()


def test_sequences(scene: Scene) -> None:
    """Row "sequence gap / repeat of one of last 5 / old epoch / negative sequence": 45 / its old offset / 47 / 87."""
    topic = scene.topic()
    batches = [batch_of(b"a", producer_id=7, producer_epoch=3, base_sequence=sequence) for sequence in range(5)]
    assert scene.append(topic, *batches, acks=-1) == [0] * 5
    again = [(answer.error_code, answer.base_offset) for answer in scene.peer.produce(topic, *batches, acks=-1)]
    assert again == [(0, offset) for offset in range(5)]
    for sequence, epoch, code in (
        (6, 3, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (5, 2, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, 4, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (-1, 3, ErrorCode.INVALID_RECORD),
    ):
        bad = batch_of(b"b", producer_id=7, producer_epoch=epoch, base_sequence=sequence)
        assert scene.append(topic, bad, bad) == [code] * 2
    assert scene.log_end_offset(topic) == 5


def test_a_producer_that_nobody_knows(scene: Scene) -> None:
    """Row "first batch of an unknown producer id with sequence > 0": accepted, its records may have been deleted."""
    assert scene.append(scene.topic(), batch_of(b"a", producer_id=8, producer_epoch=2, base_sequence=41)) == [0]


def test_too_few_in_sync(scene: Scene) -> None:
    """Row "ISR < min before append": 19, of acks=all alone. A topic of one replica has never too few."""
    topic = scene.topic(min_insync_replicas="2")
    assert scene.append(topic, GOOD, acks=-1) == [0]
    partition = scene.partition(topic)
    second_is_away = LeaderAndIsr(1, 5, (1,), (1, 2), 7)
    scene.running.call(lambda: partition.decide(second_is_away, 0))
    assert scene.append(topic, GOOD, GOOD, acks=-1) == [ErrorCode.NOT_ENOUGH_REPLICAS] * 2
    assert scene.log_end_offset(topic) == 1
    assert scene.append(topic, GOOD, acks=1) == [0]


def test_a_disk_that_is_full(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row "produce to full or failed log dir": 56, at once and from then on; nothing that was acknowledged goes."""
    full, sound = tmp_path_factory.mktemp("full"), tmp_path_factory.mktemp("sound")
    with scene_of(f"{full},{sound}") as scene:
        topics = [scene.topic(), scene.topic()]
        for topic in topics:
            assert scene.append(topic, GOOD) == [0]
        (bad,) = (topic for topic in topics if (full / f"{topic}-0").exists())
        (good,) = (topic for topic in topics if (sound / f"{topic}-0").exists())
        real_writev = os.writev

        def writev(descriptor: int, buffers: list[bytes]) -> int:
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(full)):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real_writev(descriptor, buffers)

        monkeypatch.setattr(os, "writev", writev)
        assert scene.append(bad, GOOD, GOOD) == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
        monkeypatch.setattr(os, "writev", real_writev)
        assert scene.append(bad, GOOD) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert scene.append(good, GOOD) == [0]


def test_our_own_failure_is_never_an_answer(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """ "Never answer −1 to Produce" (RP#5355): the connection ends, the client tries again and finds out."""
    topic = scene.topic()
    partition = scene.partition(topic)

    def fail(*_: object, **__: object) -> None:
        raise KeyError("what nobody foresaw")

    monkeypatch.setattr(type(partition.log), "append", fail)
    with scene.running.peer() as peer:
        data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, bytes(GOOD))])
        peer.tell(ProduceRequest(None, 1, 1_000, [data]), 9)
        assert peer.is_closed_by_broker()
    monkeypatch.undo()
    assert scene.append(topic, GOOD) == [0]


def test_each_partition_has_its_own_answer(scene: Scene) -> None:
    """One bad batch harms neither its neighbours in the request nor the log."""
    topic = scene.topic()
    bad = with_field(GOOD, ">I", CRC_POSITION, 1, seal=False)
    partitions = [PartitionProduceData(0, bytes(GOOD)), PartitionProduceData(7, bytes(GOOD))]
    topics = [
        TopicProduceData(topic, partition_data=partitions),
        TopicProduceData(scene.topic(), partition_data=[PartitionProduceData(0, bytes(bad))]),
    ]
    answer = scene.peer.ask(ProduceRequest(None, -1, 1_000, topics), 9, ProduceResponse)
    codes = [each.error_code for of_topic in answer.responses for each in of_topic.partition_responses]
    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.CORRUPT_MESSAGE]
