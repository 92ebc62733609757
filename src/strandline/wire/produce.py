"""Produce, versions 3 to 13, by hand: the request as views of its bytes, the response in one struct per partition.

    request   v3   transactional id, acks, timeout, topics by name, partitions with record batches (KIP-98)
              v9   flexible
              v13  topics by id (KIP-516)
    response  v5   log start offset
              v8   errors of single records (KIP-467)
              v10  current leader, and where it is, beside an error (KIP-951)

v4, v6, v7 (zstd may come), v11 and v12 (transactions, KIP-890) changed meanings, not bytes. Records stay where
they are: nobody here looks at them.
"""

from __future__ import annotations

from struct import Struct

from strandline.model.failures import ProtocolError
from strandline.wire.codec import structure_writer, tags_writer
from strandline.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from strandline.wire.primitives import (
    BAD_BYTES,
    INT32,
    NO_UUID,
    TAGS_NONE,
    Buffer,
    encode_compact_count,
    encode_compact_string,
    encode_string,
    malformed,
    read_compact_nullable_string,
    read_compact_nullable_view,
    read_compact_present_count,
    read_compact_string,
    read_nullable_string,
    read_nullable_view,
    read_present_count,
    read_string,
    skip_tags,
)

FLEXIBLE_FROM = 9
TOPIC_IDS_FROM = 13

ACKS_AND_TIMEOUT = Struct(">hi")
ONE_TOPIC_BY_NAME = Struct(">xhiBB")  # null transactional id, acks, timeout, topics + 1, length of the name + 1
ONE_PARTITION = Struct(">Bi")  # partitions + 1, index
ONE_PARTITION_BY_ID = Struct(">xhiB16sBi")  # all of it, and the topic id
ONE = 2  # as a compact count
NO_TAGS_AT_ALL = bytes(3)  # of the partition, the topic, the request
PARTITION_V3 = Struct(">ihqq")
PARTITION_V5 = Struct(">ihqqq")
PARTITION_V8 = Struct(">ihqqqih")  # no record errors, null error message
PARTITION_V9 = Struct(">ihqqqBxx")  # the same, and no tags


def decode_produce_request(version: int, body: Buffer) -> ProduceRequest:
    try:
        if version >= FLEXIBLE_FROM:
            return _decode_one_partition(version, body) or _decode_flexible(version, body)
        return _decode_legacy(body)
    except (*BAD_BYTES, ProtocolError) as cause:
        raise malformed("ProduceRequest", version, cause) from None


def _decode_one_partition(version: int, body: Buffer) -> ProduceRequest | None:
    """The request of most producers most of the time: no transaction, one topic, one partition. None: look again."""
    if len(body) < ONE_PARTITION_BY_ID.size or body[0] != 0:
        return None
    if version >= TOPIC_IDS_FROM:
        acks, timeout_ms, topics, topic_id, partitions, index = ONE_PARTITION_BY_ID.unpack_from(body)
        name, position = "", ONE_PARTITION_BY_ID.size
    else:
        acks, timeout_ms, topics, length = ONE_TOPIC_BY_NAME.unpack_from(body)
        if topics != ONE or not 0 < length < 0x80:
            return None
        position = ONE_TOPIC_BY_NAME.size + length - 1
        partitions, index = ONE_PARTITION.unpack_from(body, position)
        name, topic_id = str(body[ONE_TOPIC_BY_NAME.size : position], "utf-8"), NO_UUID
        position += ONE_PARTITION.size
    if topics != ONE or partitions != ONE:
        return None
    records, position = read_compact_nullable_view(body, position)
    if body[position : position + 3] != NO_TAGS_AT_ALL:
        return None
    topic = TopicProduceData(name, topic_id, [PartitionProduceData(index, records)])
    return ProduceRequest(None, acks, timeout_ms, [topic])


def _decode_legacy(body: Buffer) -> ProduceRequest:
    transactional_id, position = read_nullable_string(body, 0)
    acks, timeout_ms = ACKS_AND_TIMEOUT.unpack_from(body, position)
    topic_count, position = read_present_count(body, position + 6)
    topics = []
    for _ in range(topic_count):
        name, position = read_string(body, position)
        partition_count, position = read_present_count(body, position)
        partitions = []
        for _ in range(partition_count):
            (index,) = INT32.unpack_from(body, position)
            records, position = read_nullable_view(body, position + 4)
            partitions.append(PartitionProduceData(index, records))
        topics.append(TopicProduceData(name, partition_data=partitions))
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def _decode_flexible(version: int, body: Buffer) -> ProduceRequest:
    transactional_id, position = read_compact_nullable_string(body, 0)
    acks, timeout_ms = ACKS_AND_TIMEOUT.unpack_from(body, position)
    topic_count, position = read_compact_present_count(body, position + 6)
    topics = []
    for _ in range(topic_count):
        if version >= TOPIC_IDS_FROM:
            topic = TopicProduceData("", bytes(body[position : position + 16]))
            position += 16
        else:
            name, position = read_compact_string(body, position)
            topic = TopicProduceData(name)
        partition_count, position = read_compact_present_count(body, position)
        partitions = topic.partition_data
        for _ in range(partition_count):
            (index,) = INT32.unpack_from(body, position)
            records, position = read_compact_nullable_view(body, position + 4)
            position = skip_tags(body, position)
            partitions.append(PartitionProduceData(index, records))
        position = skip_tags(body, position)
        topics.append(topic)
    skip_tags(body, position)
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


def encode_produce_response(version: int, response: ProduceResponse) -> bytes:
    if version >= FLEXIBLE_FROM:
        return _encode_flexible(version, response)
    target = bytearray(INT32.pack(len(response.responses)))
    for topic in response.responses:
        target += encode_string(topic.name)
        target += INT32.pack(len(topic.partition_responses))
        for partition in topic.partition_responses:
            target += _encode_legacy_partition(version, partition)
    target += INT32.pack(response.throttle_time_ms)
    return bytes(target)


def _encode_legacy_partition(version: int, partition: PartitionProduceResponse) -> bytes:
    placed = (partition.index, partition.error_code, partition.base_offset, partition.log_append_time_ms)
    if version < 5:
        return PARTITION_V3.pack(*placed)
    if version < 8:
        return PARTITION_V5.pack(*placed, partition.log_start_offset)
    if partition.record_errors or partition.error_message is not None:
        return structure_writer(PartitionProduceResponse, version, False)(partition)
    return PARTITION_V8.pack(*placed, partition.log_start_offset, 0, -1)


def _encode_flexible(version: int, response: ProduceResponse) -> bytes:
    target = bytearray(encode_compact_count(len(response.responses)))
    for topic in response.responses:
        target += topic.topic_id if version >= TOPIC_IDS_FROM else encode_compact_string(topic.name)
        target += encode_compact_count(len(topic.partition_responses))
        for partition in topic.partition_responses:
            if _is_plain(partition):
                target += PARTITION_V9.pack(
                    partition.index,
                    partition.error_code,
                    partition.base_offset,
                    partition.log_append_time_ms,
                    partition.log_start_offset,
                    1,  # an empty array of record errors
                )
            else:
                target += structure_writer(PartitionProduceResponse, version, True)(partition)
        target += TAGS_NONE
    target += INT32.pack(response.throttle_time_ms)
    target += tags_writer(ProduceResponse, version)(response) if response.node_endpoints else TAGS_NONE
    return bytes(target)


def _is_plain(partition: PartitionProduceResponse) -> bool:
    """No errors of records and no leader: what goes out when all is well."""
    leader = partition.current_leader
    return (
        not partition.record_errors
        and partition.error_message is None
        and leader.leader_id == -1
        and leader.leader_epoch == -1
    )
