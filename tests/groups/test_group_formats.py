"""`__consumer_offsets` in Kafka's bytes (SPEC P4): golden bytes worked out by hand from Kafka's schemas, round trips
of every kind in every version, and bad bytes refused."""

from __future__ import annotations

from dataclasses import fields
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.groups import records
from strandline.groups.formats import BY_KEY, SCHEMAS, Schema, decode_record, encode_key, encode_record, encode_value
from strandline.groups.records import GroupRecord
from strandline.model.failures import CorruptData

OFFSET_KEY = records.OffsetCommitKey("g", "t", 3)
OFFSET_VALUE = records.OffsetCommitValue(offset=5, leader_epoch=2, metadata="m", commit_timestamp=1000)
OFFSET_KEY_BYTES = "0001 0001 67 0001 74 00000003"
MEMBER = records.MemberMetadata(
    member_id="m",
    group_instance_id="i",
    client_id="c",
    client_host="/h",
    rebalance_timeout=300,
    session_timeout=200,
    subscription=b"\x01",
    assignment=b"",
)
GROUP_VALUE = records.GroupMetadataValue(
    protocol_type="consumer", generation=7, protocol="range", leader="m", current_state_timestamp=1, members=(MEMBER,)
)
TOPIC_ID = UUID(int=0x0102030405060708090A0B0C0D0E0F10)
TOPIC_ID_BYTES = "0102030405060708090a0b0c0d0e0f10"


def test_an_offset_is_written_as_version_3() -> None:
    key, value = encode_record(GroupRecord(OFFSET_KEY, OFFSET_VALUE))
    assert key == bytes.fromhex(OFFSET_KEY_BYTES)
    assert value == bytes.fromhex("0003 0000000000000005 00000002 0001 6d 00000000000003e8")


@pytest.mark.parametrize(
    ("golden", "missing"),
    [
        ("0000 0000000000000005 0001 6d 00000000000003e8", {"leader_epoch": -1}),
        ("0001 0000000000000005 0001 6d 00000000000003e8 ffffffffffffffff", {"leader_epoch": -1}),
        ("0002 0000000000000005 0001 6d 00000000000003e8", {"leader_epoch": -1}),
        ("0003 0000000000000005 00000002 0001 6d 00000000000003e8", {}),
        # Flexible: a compact string, and no tagged fields.
        ("0004 0000000000000005 00000002 02 6d 00000000000003e8 00", {}),
    ],
)
def test_offsets_of_all_versions_are_read(golden: str, missing: dict[str, Any]) -> None:
    expected = records.OffsetCommitValue(
        **{field.name: getattr(OFFSET_VALUE, field.name) for field in fields(OFFSET_VALUE)} | missing
    )
    record = decode_record(bytes.fromhex(OFFSET_KEY_BYTES), bytes.fromhex(golden))
    assert record == GroupRecord(OFFSET_KEY, expected)


def test_an_offset_with_its_own_expiry_is_written_as_version_1() -> None:
    value = records.OffsetCommitValue(offset=5, commit_timestamp=1000, expire_timestamp=2000)
    encoded = encode_value(OFFSET_KEY, value)
    assert encoded == bytes.fromhex("0001 0000000000000005 0000 00000000000003e8 00000000000007d0")


def test_offset_keys_of_kind_0_are_read() -> None:
    assert decode_record(bytes.fromhex("0000 0001 67 0001 74 00000003"), None) == GroupRecord(OFFSET_KEY, None)


def test_a_classic_group_is_written_as_version_3() -> None:
    key = records.GroupMetadataKey("g")
    assert encode_key(key) == bytes.fromhex("0002 0001 67")
    assert encode_value(key, GROUP_VALUE) == bytes.fromhex(
        "0003 0008 636f6e73756d6572 00000007 0005 72616e6765 0001 6d 0000000000000001 00000001"
        "0001 6d 0001 69 0001 63 0002 2f68 0000012c 000000c8 00000001 01 00000000"
    )


def test_an_empty_classic_group_has_no_protocol_and_no_leader() -> None:
    value = records.GroupMetadataValue(protocol_type="consumer", generation=8, current_state_timestamp=1)
    assert encode_value(records.GroupMetadataKey("g"), value) == bytes.fromhex(
        "0003 0008 636f6e73756d6572 00000008 ffff ffff 0000000000000001 00000000"
    )


def test_the_members_of_a_consumer_group() -> None:
    key = records.ConsumerGroupMemberMetadataKey("g", "m")
    value = records.ConsumerGroupMemberMetadataValue(
        client_id="c", client_host="/h", subscribed_topic_names=("t",), rebalance_timeout_ms=300
    )
    assert encode_key(key) == bytes.fromhex("0005 0001 67 0001 6d")
    assert encode_value(key, value) == bytes.fromhex("0000 00 00 02 63 03 2f68 02 02 74 00 0000012c 00 00")


def test_a_classic_member_of_a_consumer_group_is_a_tagged_field() -> None:
    key = records.ConsumerGroupMemberMetadataKey("g", "m")
    classic = records.ClassicMemberMetadata(
        session_timeout_ms=200, supported_protocols=(records.ClassicProtocol(name="r", metadata=b"\x07"),)
    )
    value = records.ConsumerGroupMemberMetadataValue(
        client_id="c", client_host="/h", subscribed_topic_names=(), classic_member_metadata=classic
    )
    # One tag: 0, of 12 bytes: present, session timeout, one protocol of name, metadata and no tags, no tags.
    golden = bytes.fromhex("0000 00 00 02 63 03 2f68 01 00 ffffffff 00 01 00 0c 01 000000c8 02 02 72 02 07 00 00")
    assert encode_value(key, value) == golden
    assert decode_record(encode_key(key), golden) == GroupRecord(key, value)


def test_a_target_and_a_current_assignment() -> None:
    assigned = (records.TopicPartitions(topic_id=TOPIC_ID, partitions=(0, 2)),)
    target = records.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=assigned)
    current = records.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=3, previous_member_epoch=2, state=1, assigned_partitions=assigned
    )
    partitions = f"02 {TOPIC_ID_BYTES} 03 00000000 00000002 00"
    assert encode_value(records.ConsumerGroupTargetAssignmentMemberKey("g", "m"), target) == bytes.fromhex(
        f"0000 {partitions} 00"
    )
    assert encode_value(records.ConsumerGroupCurrentMemberAssignmentKey("g", "m"), current) == bytes.fromhex(
        f"0000 00000003 00000002 01 {partitions} 01 00"
    )


def test_epochs_and_topics_of_a_consumer_group() -> None:
    topic = records.TopicMetadata(topic_id=TOPIC_ID, topic_name="t", num_partitions=4)
    golden: dict[str, tuple[records.Key, records.Value, str]] = {
        "0003": (records.ConsumerGroupMetadataKey("g"), records.ConsumerGroupMetadataValue(epoch=9), "00000009 00"),
        "0004": (
            records.ConsumerGroupPartitionMetadataKey("g"),
            records.ConsumerGroupPartitionMetadataValue(topics=(topic,)),
            f"02 {TOPIC_ID_BYTES} 02 74 00000004 01 00 00",
        ),
        "0006": (
            records.ConsumerGroupTargetAssignmentMetadataKey("g"),
            records.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=9),
            "00000009 00",
        ),
    }
    for kind, (key, value, body) in golden.items():
        assert encode_key(key) == bytes.fromhex(f"{kind} 0001 67")
        assert encode_value(key, value) == bytes.fromhex(f"0000 {body}")


def test_tags_of_the_future_are_skipped() -> None:
    """KIP-915: newer software adds tagged fields only, so that older can still load the log."""
    golden = bytes.fromhex("0004 0000000000000005 00000002 02 6d 00000000000003e8 01 63 02 abcd")
    assert decode_record(bytes.fromhex(OFFSET_KEY_BYTES), golden) == GroupRecord(OFFSET_KEY, OFFSET_VALUE)


def test_kinds_that_are_not_ours_are_skipped() -> None:
    assert decode_record(bytes.fromhex("0009 0001 67"), b"whatever") is None


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("00", None, "do not fit"),
        ("0001 0001 67 0001 74 000000", None, "do not fit"),
        ("0001 0001 67 0001 74 00000003 00", None, "1 bytes follow the key"),
        ("0001 ffff 0001 74 00000003", None, "do not fit"),
        ("0001 0001 ff 0001 74 00000003", None, "not UTF-8"),
        ("0002 0001 67", "0005", "unknown version 5"),
        ("0002 0001 67", "0003 0000 00000007 ffff ffff 0000000000000001 7fffffff", "array of 2147483647"),
        ("0002 0001 67", "0003 0000 00000007 ffff ffff 0000000000000001 00000000 00", "follow the value"),
        ("0003 0001 67", "0000 00000009 ffffffffff", "too long"),
    ],
)
def test_damage_is_named(key: str, value: str | None, reason: str) -> None:
    with pytest.raises(CorruptData, match=reason):
        decode_record(bytes.fromhex(key), None if value is None else bytes.fromhex(value))


def values_of(layout: Any, version: int) -> st.SearchStrategy[Any]:
    """Anything a layout can write in this version."""
    name = type(layout).__name__
    if name == "Number":
        bits = 8 * layout.layout.size - 1
        return st.integers(-(2**bits), 2**bits - 1)
    if name == "Identity":
        return st.uuids()
    if name == "Text":
        text = st.text(st.characters(codec="utf-8"), max_size=20)
        return st.none() | text if layout.nullable else text
    if name == "Blob":
        return st.binary(max_size=20)
    if name == "Array":
        return st.lists(values_of(layout.item, version), max_size=3).map(tuple)
    if name == "NullableStructure":
        return values_of(layout.layout, version)
    present = {
        field.name: values_of(field.kind, version) if field.tag is None else st.none() | values_of(field.kind, version)
        for field in layout.fields
        if field.since <= version <= field.until
    }
    return st.fixed_dictionaries(present).map(lambda found: layout.make(**found))


@st.composite
def versioned_records(draw: st.DrawFn) -> tuple[GroupRecord, int]:
    schema: Schema = draw(st.sampled_from(SCHEMAS))
    version = draw(st.integers(0, schema.version_max))
    return GroupRecord(draw(values_of(schema.key, 0)), draw(values_of(schema.value, version))), version


@given(versioned_records())
@settings(max_examples=150)
def test_decoding_undoes_encoding(case: tuple[GroupRecord, int]) -> None:
    record, version = case
    assert record.value is not None
    encoded = encode_value(record.key, record.value, version)
    assert decode_record(encode_key(record.key), encoded) == record
    assert len(str(record).splitlines()) == 1


@given(versioned_records(), st.data())
@settings(max_examples=100)
def test_cut_bytes_never_pass(case: tuple[GroupRecord, int], data: st.DataObject) -> None:
    record, version = case
    assert record.value is not None
    encoded = encode_value(record.key, record.value, version)
    kept = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(CorruptData):
        decode_record(encode_key(record.key), encoded[:kept])


def test_every_key_has_one_schema() -> None:
    assert len(BY_KEY) == len(SCHEMAS) == 8
