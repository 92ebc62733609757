"""The Fetch response, versions 4 to 18, by hand: heads as bytes, records left where they are.

    v4   throttle time, topics; partitions with high watermark, last stable offset, aborted transactions (KIP-98)
    v5   log start offset (KIP-107)
    v7   session id and an error for the whole response (KIP-227)
    v11  a replica nearer to the consumer (KIP-392)
    v12  flexible; tags for a diverging epoch, the current leader, a snapshot (KIP-595)
    v13  topics by id (KIP-516)
    v16  where the leaders are, as a tag (KIP-951)

The answer is a list of parts. A part is bytes, or the slice of a file that the caller gave as `records`: it stays
in the file until the network layer sends it from there.
"""

from __future__ import annotations

from struct import Struct

from strandline.wire.codec import tags_writer
from strandline.wire.messages.fetch import AbortedTransaction, FetchResponse, PartitionData
from strandline.wire.primitives import (
    INT32,
    TAGS_NONE,
    Buffer,
    FileSlice,
    encode_compact_count,
    encode_compact_string,
    encode_string,
    encode_uvarint,
)

FLEXIBLE_FROM = 12
TOPIC_IDS_FROM = 13

ONE = 2  # how a compact array says that there is one
NO_MORE = 3 * TAGS_NONE  # of the partition, the topic and the answer

Part = Buffer | bytearray | FileSlice

SESSION = Struct(">ihi")  # throttle time, error, session id
PARTITION_V4 = Struct(">ihqq")  # index, error, high watermark, last stable offset
PARTITION_V5 = Struct(">ihqqq")  # + log start offset
PARTITION_V12 = Struct(">ihqqqBi")  # + null or no aborted transactions, preferred replica
ONLY_PARTITION_V13 = Struct(">ihiB16sBihqqqBi")  # the session's fields, one topic and its id, one partition and its
ABORTED = Struct(">qq")
ABORTED_FLEXIBLE = Struct(">qqx")


def encode_fetch_response(version: int, response: FetchResponse) -> tuple[list[Part], int]:
    """The parts of the body, and how many bytes they have in all."""
    head = bytearray(
        SESSION.pack(response.throttle_time_ms, response.error_code, response.session_id)
        if version >= 7
        else INT32.pack(response.throttle_time_ms)
    )
    parts: list[Part] = [head]
    if version >= FLEXIBLE_FROM:
        sent_bytes = _append_flexible(version, response, parts, head)
    else:
        sent_bytes = _append_legacy(version, response, parts, head)
    return parts, sent_bytes + sum([len(part) for part in parts if isinstance(part, bytearray)])


def encode_only_partition(session_id: int, topic_id: bytes, partition: PartitionData) -> tuple[list[Part], int]:
    """The same about one partition without tags and aborted transactions, versions 13 and above: followers that wait
    for a record are told of it so."""
    records = partition.records
    length = -1 if records is None else _length(records)
    head = ONLY_PARTITION_V13.pack(
        0, 0, session_id, ONE, topic_id, ONE, partition.partition_index, partition.error_code,
        partition.high_watermark, partition.last_stable_offset, partition.log_start_offset,
        0 if partition.aborted_transactions is None else 1, partition.preferred_read_replica,
    ) + encode_uvarint(length + 1)  # fmt: skip
    if records is None or length == 0:
        return [head + NO_MORE], len(head) + len(NO_MORE)
    return [head, records, NO_MORE], len(head) + length + len(NO_MORE)


def _append_flexible(version: int, response: FetchResponse, parts: list[Part], head: bytearray) -> int:
    sent_bytes = 0
    head += encode_compact_count(len(response.responses))
    for topic in response.responses:
        head += topic.topic_id if version >= TOPIC_IDS_FROM else encode_compact_string(topic.topic)
        head += encode_compact_count(len(topic.partitions))
        for partition in topic.partitions:
            head += _partition_head(partition)
            records = partition.records
            length = -1 if records is None else _length(records)
            head += encode_uvarint(length + 1)
            if records is not None and length > 0:
                head = _send(parts, records)
                sent_bytes += length
            head += TAGS_NONE if has_no_tags(partition) else tags_writer(PartitionData, version)(partition)
        head += TAGS_NONE
    head += tags_writer(FetchResponse, version)(response) if response.node_endpoints else TAGS_NONE
    return sent_bytes


def _append_legacy(version: int, response: FetchResponse, parts: list[Part], head: bytearray) -> int:
    sent_bytes = 0
    head += INT32.pack(len(response.responses))
    for topic in response.responses:
        head += encode_string(topic.topic)
        head += INT32.pack(len(topic.partitions))
        for partition in topic.partitions:
            head += _legacy_partition_head(version, partition)
            records = partition.records
            length = -1 if records is None else _length(records)
            head += INT32.pack(length)
            if records is not None and length > 0:
                head = _send(parts, records)
                sent_bytes += length
    return sent_bytes


def _send(parts: list[Part], records: Buffer | FileSlice) -> bytearray:
    """Put the records between what was written and what comes next."""
    head = bytearray()
    parts += [records, head]
    return head


def _length(records: Buffer | FileSlice) -> int:
    return len(records) if isinstance(records, bytes | memoryview) else records.length


def _partition_head(partition: PartitionData) -> bytes:
    aborted = partition.aborted_transactions
    head = PARTITION_V12.pack(
        partition.partition_index,
        partition.error_code,
        partition.high_watermark,
        partition.last_stable_offset,
        partition.log_start_offset,
        0 if aborted is None else 1,
        partition.preferred_read_replica,
    )
    return _with_aborted(head, aborted) if aborted else head


def _with_aborted(head: bytes, aborted: list[AbortedTransaction]) -> bytes:
    """The head with transactions where it has none: before the preferred replica."""
    each = [ABORTED_FLEXIBLE.pack(transaction.producer_id, transaction.first_offset) for transaction in aborted]
    return b"".join([head[:-5], encode_compact_count(len(aborted)), *each, head[-4:]])


def _legacy_partition_head(version: int, partition: PartitionData) -> bytes:
    reached = (
        partition.partition_index,
        partition.error_code,
        partition.high_watermark,
        partition.last_stable_offset,
    )
    head = PARTITION_V5.pack(*reached, partition.log_start_offset) if version >= 5 else PARTITION_V4.pack(*reached)
    aborted = partition.aborted_transactions
    if aborted is None:
        head += INT32.pack(-1)
    else:
        each = [ABORTED.pack(transaction.producer_id, transaction.first_offset) for transaction in aborted]
        head += INT32.pack(len(aborted)) + b"".join(each)
    return head + INT32.pack(partition.preferred_read_replica) if version >= 11 else head


def has_no_tags(partition: PartitionData) -> bool:
    """None differs from its default: an error says more, a good answer does not."""
    return (
        partition.current_leader.leader_id == -1
        and partition.diverging_epoch.epoch == -1
        and partition.diverging_epoch.end_offset == -1
        and partition.current_leader.leader_epoch == -1
        and partition.snapshot_id.end_offset == -1
        and partition.snapshot_id.epoch == -1
    )
