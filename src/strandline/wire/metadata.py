"""The Metadata response, versions 0 to 13, by hand. (Requests are read by the plain codec.)

    v1   racks, controller, internal topics        v8   authorized operations (of the cluster: until 10)
    v2   cluster id                                v9   flexible
    v3   throttle time                             v10  topic ids (KIP-516)
    v5   offline replicas (KIP-112)                v12  topics by id: a name may be null
    v7   leader epochs (KIP-320)                   v13  an error for the whole (KIP-1102)

v4, v6 and v11 changed the request or meanings.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct

from strandline.wire.dialects import FLEXIBLE, LEGACY, Dialect
from strandline.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from strandline.wire.primitives import INT16, INT32

FLEXIBLE_FROM = 9
TOPIC_IDS_FROM = 10
NULL_NAMES_FROM = 12

REPLICA_SETS_MAX = 4_096  # that are kept as bytes, some two hundred bytes each

Ids = tuple[int, ...]

PARTITION_V0 = Struct(">hii")  # error, index, leader
PARTITION_V7 = Struct(">hiii")  # + leader epoch


def encode_metadata_response(version: int, response: MetadataResponse) -> bytes:
    dialect = FLEXIBLE if version >= FLEXIBLE_FROM else LEGACY
    target = bytearray(INT32.pack(response.throttle_time_ms) if version >= 3 else b"")
    target += dialect.encode_count(len(response.brokers))
    for broker in response.brokers:
        target += _encode_broker(version, broker, dialect)
    if version >= 2:
        target += dialect.encode_nullable_string(response.cluster_id)
    if version >= 1:
        target += INT32.pack(response.controller_id)
    target += dialect.encode_count(len(response.topics))
    for topic in response.topics:
        _append_topic(version, target, topic, dialect)
    if 8 <= version <= 10:
        target += INT32.pack(response.cluster_authorized_operations)
    if version >= 13:
        target += INT16.pack(response.error_code)
    return bytes(target + dialect.tags)


def _encode_broker(version: int, broker: MetadataResponseBroker, dialect: Dialect) -> bytes:
    address = INT32.pack(broker.node_id) + dialect.encode_string(broker.host) + INT32.pack(broker.port)
    return address + dialect.encode_nullable_string(broker.rack) + dialect.tags if version >= 1 else address


def _append_topic(version: int, target: bytearray, topic: MetadataResponseTopic, dialect: Dialect) -> None:
    target += INT16.pack(topic.error_code)
    target += (
        dialect.encode_nullable_string(topic.name)
        if version >= NULL_NAMES_FROM
        else dialect.encode_string(topic.name or "")
    )
    if version >= TOPIC_IDS_FROM:
        target += topic.topic_id
    if version >= 1:
        target.append(topic.is_internal)
    target += dialect.encode_count(len(topic.partitions))
    for partition in topic.partitions:
        target += _encode_partition(version, partition)
    if version >= 8:
        target += INT32.pack(topic.topic_authorized_operations)
    target += dialect.tags


def _encode_partition(version: int, partition: MetadataResponsePartition) -> bytes:
    place = (partition.error_code, partition.partition_index, partition.leader_id)
    head = PARTITION_V7.pack(*place, partition.leader_epoch) if version >= 7 else PARTITION_V0.pack(*place)
    return head + _encode_replicas(
        version, tuple(partition.replica_nodes), tuple(partition.isr_nodes), tuple(partition.offline_replicas)
    )


@lru_cache(REPLICA_SETS_MAX)
def _encode_replicas(version: int, replicas: Ids, isr: Ids, offline: Ids) -> bytes:
    """Thousands of partitions have the same few: it takes longer to write them than all else of a partition."""
    dialect = FLEXIBLE if version >= FLEXIBLE_FROM else LEGACY
    lists = [replicas, isr, offline] if version >= 5 else [replicas, isr]
    return b"".join(map(dialect.encode_int32s, lists)) + dialect.tags
