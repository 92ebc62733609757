"""The quick way of offset commits, which nearly all records of `__consumer_offsets` are, to bytes and back.

`formats` has the plain way and the last word: whatever is not exactly as below is left to it.

    key    int16 1, group, topic, int32 partition
    value  int16 3, int64 offset, int32 leader epoch, metadata, int64 commit timestamp

Strings have an int16 length before them.
"""

from __future__ import annotations

from struct import Struct, error

from strandline.groups.records import NONE_MS, GroupRecord, OffsetCommitKey, OffsetCommitValue

KIND, VERSION = 1, 3
KIND_AND_LENGTH = Struct(">hh")
LENGTH = Struct(">h")
PARTITION = Struct(">i")
VALUE_HEAD = Struct(">hqih")
TIMESTAMP = Struct(">q")


def encode_offset(record: GroupRecord) -> tuple[bytes, bytes] | None:
    key, value = record.key, record.value
    if type(key) is not OffsetCommitKey or type(value) is not OffsetCommitValue or value.expire_timestamp != NONE_MS:
        return None
    group, topic, metadata = key.group.encode(), key.topic.encode(), value.metadata.encode()
    try:
        head = KIND_AND_LENGTH.pack(KIND, len(group)) + group + LENGTH.pack(len(topic)) + topic
        value_head = VALUE_HEAD.pack(VERSION, value.offset, value.leader_epoch, len(metadata))
        return head + PARTITION.pack(key.partition), value_head + metadata + TIMESTAMP.pack(value.commit_timestamp)
    except error:
        return None


def decode_offset(key: bytes, value: bytes | None) -> GroupRecord | None:
    if value is None:
        return None
    try:
        kind, group_length = KIND_AND_LENGTH.unpack_from(key)
        version, offset, leader_epoch, metadata_length = VALUE_HEAD.unpack_from(value)
        if kind != KIND or version != VERSION or group_length < 0 or metadata_length < 0:
            return None
        group_end = KIND_AND_LENGTH.size + group_length
        (topic_length,) = LENGTH.unpack_from(key, group_end)
        topic_start = group_end + LENGTH.size
        topic_end = topic_start + topic_length
        metadata_end = VALUE_HEAD.size + metadata_length
        if topic_length < 0 or topic_end + PARTITION.size != len(key) or metadata_end + TIMESTAMP.size != len(value):
            return None
        decoded_key = OffsetCommitKey(
            str(key[KIND_AND_LENGTH.size : group_end], "utf-8"),
            str(key[topic_start:topic_end], "utf-8"),
            PARTITION.unpack_from(key, topic_end)[0],
        )
        metadata = str(value[VALUE_HEAD.size : metadata_end], "utf-8")
    except (error, UnicodeDecodeError):
        return None
    return GroupRecord(
        decoded_key,
        OffsetCommitValue(
            offset=offset,
            leader_epoch=leader_epoch,
            metadata=metadata,
            commit_timestamp=TIMESTAMP.unpack_from(value, metadata_end)[0],
        ),
    )
