"""The bytes of `__consumer_offsets`: Kafka's record schemas as tables, and records to and from key and value.

A key begins with an int16 that names the kind of record, a value with an int16 that is its version:

    key  record                                  value versions   written as
    0,1  OffsetCommit                            0 to 4           3; 1 with its own expiry
    2    GroupMetadata                           0 to 4           3
    3    ConsumerGroupMetadata                   0                0
    4    ConsumerGroupPartitionMetadata          0                0
    5    ConsumerGroupMemberMetadata             0                0
    6    ConsumerGroupTargetAssignmentMetadata   0                0
    7    ConsumerGroupTargetAssignmentMember     0                0
    8    ConsumerGroupCurrentMemberAssignment    0                0

Kafka writes versions 3, the highest that are not flexible, until it needs a tagged field; so do we. Keys are never
flexible. Kinds above 8 (share groups and what may come) are skipped on loading, as Kafka skips what it does not know.
"""

from __future__ import annotations

from struct import Struct

from strandline.groups import records
from strandline.groups.offset_bytes import decode_offset, encode_offset
from strandline.groups.records import GroupRecord, Key, OffsetCommitValue, Value
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass
from strandline.records.layouts import (
    INT16,
    Array,
    Blob,
    Dialect,
    Field,
    Identity,
    Layout,
    NullableStructure,
    Number,
    Source,
    Text,
)

INT8 = Number(Struct(">b"))
INT32 = Number(Struct(">i"))
INT64 = Number(Struct(">q"))
STRING = Text()
NULLABLE_STRING = Text(nullable=True)
BYTES = Blob()
IDENTITY = Identity()
PLAIN = Dialect(0, flexible=False)

GROUP = (Field("group", STRING),)
GROUP_AND_MEMBER = (*GROUP, Field("member_id", STRING))
TOPIC_PARTITIONS = Array(
    Layout(records.TopicPartitions, (Field("topic_id", IDENTITY), Field("partitions", Array(INT32))))
)


@dataclass(frozen=True, slots=True)
class Schema:
    """One kind of record."""

    kind: int
    key: Layout
    value: Layout
    version_max: int = 0
    flexible_since: int = 0
    written_version: int = 0

    def dialect(self, version: int) -> Dialect:
        return Dialect(version, version >= self.flexible_since)


SCHEMAS = (
    Schema(
        kind=1,
        key=Layout(
            records.OffsetCommitKey,
            (*GROUP, Field("topic", STRING), Field("partition", INT32)),
        ),
        value=Layout(
            records.OffsetCommitValue,
            (
                Field("offset", INT64),
                Field("leader_epoch", INT32, since=3),
                Field("metadata", STRING),
                Field("commit_timestamp", INT64),
                Field("expire_timestamp", INT64, since=1, until=1),
            ),
        ),
        version_max=4,
        flexible_since=4,
        written_version=3,
    ),
    Schema(
        kind=2,
        key=Layout(records.GroupMetadataKey, GROUP),
        value=Layout(
            records.GroupMetadataValue,
            (
                Field("protocol_type", STRING),
                Field("generation", INT32),
                Field("protocol", NULLABLE_STRING),
                Field("leader", NULLABLE_STRING),
                Field("current_state_timestamp", INT64, since=2),
                Field(
                    "members",
                    Array(
                        Layout(
                            records.MemberMetadata,
                            (
                                Field("member_id", STRING),
                                Field("group_instance_id", NULLABLE_STRING, since=3),
                                Field("client_id", STRING),
                                Field("client_host", STRING),
                                Field("rebalance_timeout", INT32, since=1),
                                Field("session_timeout", INT32),
                                Field("subscription", BYTES),
                                Field("assignment", BYTES),
                            ),
                        )
                    ),
                ),
            ),
        ),
        version_max=4,
        flexible_since=4,
        written_version=3,
    ),
    Schema(
        kind=3,
        key=Layout(records.ConsumerGroupMetadataKey, GROUP),
        value=Layout(records.ConsumerGroupMetadataValue, (Field("epoch", INT32),)),
    ),
    Schema(
        kind=4,
        key=Layout(records.ConsumerGroupPartitionMetadataKey, GROUP),
        value=Layout(
            records.ConsumerGroupPartitionMetadataValue,
            (
                Field(
                    "topics",
                    Array(
                        Layout(
                            records.TopicMetadata,
                            (
                                Field("topic_id", IDENTITY),
                                Field("topic_name", STRING),
                                Field("num_partitions", INT32),
                                Field(
                                    "partition_metadata",
                                    Array(
                                        Layout(
                                            records.PartitionRacks,
                                            (Field("partition", INT32), Field("racks", Array(STRING))),
                                        )
                                    ),
                                ),
                            ),
                        )
                    ),
                ),
            ),
        ),
    ),
    Schema(
        kind=5,
        key=Layout(records.ConsumerGroupMemberMetadataKey, GROUP_AND_MEMBER),
        value=Layout(
            records.ConsumerGroupMemberMetadataValue,
            (
                Field("instance_id", NULLABLE_STRING),
                Field("rack_id", NULLABLE_STRING),
                Field("client_id", STRING),
                Field("client_host", STRING),
                Field("subscribed_topic_names", Array(STRING)),
                Field("subscribed_topic_regex", NULLABLE_STRING),
                Field("rebalance_timeout_ms", INT32),
                Field("server_assignor", NULLABLE_STRING),
                Field(
                    "classic_member_metadata",
                    NullableStructure(
                        Layout(
                            records.ClassicMemberMetadata,
                            (
                                Field("session_timeout_ms", INT32),
                                Field(
                                    "supported_protocols",
                                    Array(
                                        Layout(
                                            records.ClassicProtocol, (Field("name", STRING), Field("metadata", BYTES))
                                        )
                                    ),
                                ),
                            ),
                        )
                    ),
                    tag=0,
                ),
            ),
        ),
    ),
    Schema(
        kind=6,
        key=Layout(records.ConsumerGroupTargetAssignmentMetadataKey, GROUP),
        value=Layout(records.ConsumerGroupTargetAssignmentMetadataValue, (Field("assignment_epoch", INT32),)),
    ),
    Schema(
        kind=7,
        key=Layout(records.ConsumerGroupTargetAssignmentMemberKey, GROUP_AND_MEMBER),
        value=Layout(
            records.ConsumerGroupTargetAssignmentMemberValue,
            (Field("topic_partitions", TOPIC_PARTITIONS),),
        ),
    ),
    Schema(
        kind=8,
        key=Layout(records.ConsumerGroupCurrentMemberAssignmentKey, GROUP_AND_MEMBER),
        value=Layout(
            records.ConsumerGroupCurrentMemberAssignmentValue,
            (
                Field("member_epoch", INT32),
                Field("previous_member_epoch", INT32),
                Field("state", INT8),
                Field("assigned_partitions", TOPIC_PARTITIONS),
                Field("partitions_pending_revocation", TOPIC_PARTITIONS),
            ),
        ),
    ),
)
# Kind 0 is how Kafka 0.8 keyed an offset; the fields are those of kind 1.
BY_KIND = {0: SCHEMAS[0]} | {schema.kind: schema for schema in SCHEMAS}
BY_KEY = {schema.key.make: schema for schema in SCHEMAS}


def encode_record(record: GroupRecord) -> tuple[bytes, bytes | None]:
    """Key and value as the log stores them."""
    return encode_offset(record) or encode_plainly(record)


def encode_plainly(record: GroupRecord) -> tuple[bytes, bytes | None]:
    return encode_key(record.key), None if record.value is None else encode_value(record.key, record.value)


def encode_key(key: Key) -> bytes:
    schema = BY_KEY[type(key)]
    target = bytearray(INT16.pack(schema.kind))
    schema.key.append(target, key, PLAIN)
    return bytes(target)


def encode_value(key: Key, value: Value, version: int | None = None) -> bytes:
    """In the version Kafka writes, unless one is given."""
    schema = BY_KEY[type(key)]
    if version is None:
        has_expiry = isinstance(value, OffsetCommitValue) and value.expire_timestamp != records.NONE_MS
        version = 1 if has_expiry else schema.written_version
    target = bytearray(INT16.pack(version))
    schema.value.append(target, value, schema.dialect(version))
    return bytes(target)


def decode_record(key: bytes, value: bytes | None) -> GroupRecord | None:
    """The record, or None where its kind is not one of ours."""
    return decode_offset(key, value) or decode_plainly(key, value)


def decode_plainly(key: bytes, value: bytes | None) -> GroupRecord | None:
    source = Source(key)
    kind = INT16.unpack(source.take(INT16.size))[0]
    schema = BY_KIND.get(kind)
    if schema is None:
        return None
    decoded_key = schema.key.take(source, PLAIN)
    _check_exhausted(source, "key", schema)
    return GroupRecord(decoded_key, None if value is None else _decode_value(schema, value))


def _decode_value(schema: Schema, value: bytes) -> Value:
    source = Source(value)
    version = INT16.unpack(source.take(INT16.size))[0]
    if not 0 <= version <= schema.version_max:
        raise CorruptData(f"a value of record kind {schema.kind} has the unknown version {version}")
    decoded: Value = schema.value.take(source, schema.dialect(version))
    _check_exhausted(source, "value", schema)
    return decoded


def _check_exhausted(source: Source, what: str, schema: Schema) -> None:
    if not source.is_exhausted:
        extra_bytes = len(source.data) - source.position
        raise CorruptData(f"{extra_bytes} bytes follow the {what} of a record of kind {schema.kind}")
