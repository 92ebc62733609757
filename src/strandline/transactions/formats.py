"""The bytes of `__transaction_state`: Kafka's TransactionLogKey and TransactionLogValue.

A key is an int16, 0, which names the kind of record, and the transactional id. A value begins with an int16 that is
its version: 0 is plain, 1 is flexible (KIP-890) and has three tagged fields: the previous producer id, the next one,
and the transaction version of the client. Kafka writes version 1 from transaction version 1 on; so do we.

Kinds that are not 0 are skipped on loading, as Kafka skips them. Tag 3 (the next epoch of a prepared two-phase commit,
KIP-939) is skipped like every tag that is not known.
"""

from __future__ import annotations

from itertools import groupby
from struct import Struct
from typing import NamedTuple

from strandline.model.failures import CorruptData, check
from strandline.model.partitions import TopicPartition
from strandline.records.layouts import INT16, Array, Dialect, Field, Layout, Number, Source, Text
from strandline.transactions.records import NO_PRODUCER_ID, Transaction, TransactionRecord
from strandline.transactions.states import FLEXIBLE_RECORDS, TransactionState

KIND = 0
PLAIN_VERSION, FLEXIBLE_VERSION = 0, 1
INT8, SHORT = Number(Struct(">b")), Number(INT16)
INT32, INT64 = Number(Struct(">i")), Number(Struct(">q"))
PLAIN = Dialect(PLAIN_VERSION, flexible=False)


class StoredKey(NamedTuple):
    transactional_id: str


class PartitionsOfTopic(NamedTuple):
    topic: str
    partition_ids: tuple[int, ...]


class StoredValue(NamedTuple):
    """The fields of the schema, by Kafka's names."""

    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_status: int
    transaction_partitions: tuple[PartitionsOfTopic, ...] | None
    transaction_last_update_timestamp_ms: int
    transaction_start_timestamp_ms: int
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_transaction_version: int = 0


KEY = Layout(StoredKey, (Field("transactional_id", Text()),))
VALUE = Layout(
    StoredValue,
    (
        Field("producer_id", INT64),
        Field("previous_producer_id", INT64, tag=0, default=NO_PRODUCER_ID),
        Field("next_producer_id", INT64, tag=1, default=NO_PRODUCER_ID),
        Field("producer_epoch", SHORT),
        Field("transaction_timeout_ms", INT32),
        Field("transaction_status", INT8),
        Field(
            "transaction_partitions",
            Array(
                Layout(PartitionsOfTopic, (Field("topic", Text()), Field("partition_ids", Array(INT32)))), nullable=True
            ),
        ),
        Field("transaction_last_update_timestamp_ms", INT64),
        Field("transaction_start_timestamp_ms", INT64),
        Field("client_transaction_version", SHORT, tag=2, default=0),
    ),
)
# DEAD and PREPARE_EPOCH_FENCE are states on the way; no record ever has them.
STORED_STATES = frozenset(range(TransactionState.DEAD))


def encode_record(record: TransactionRecord, transaction_version: int) -> tuple[bytes, bytes | None]:
    """Key and value as the log stores them, where the cluster is at this level of `transaction.version`."""
    key = bytearray(INT16.pack(KIND))
    KEY.append(key, StoredKey(record.transactional_id), PLAIN)
    if record.transaction is None:
        return bytes(key), None
    version = FLEXIBLE_VERSION if transaction_version >= FLEXIBLE_RECORDS else PLAIN_VERSION
    return bytes(key), encode_transaction(record.transaction, version)


def encode_transaction(transaction: Transaction, version: int) -> bytes:
    """A plain version forgets the previous producer id and the client's version: they mean something to version 2
    only."""
    is_flexible = version >= FLEXIBLE_VERSION
    check(
        is_flexible or transaction.next_producer_id == NO_PRODUCER_ID, "a plain record cannot hold a next producer id"
    )
    target = bytearray(INT16.pack(version))
    VALUE.append(target, _stored(transaction), Dialect(version, is_flexible))
    return bytes(target)


def _stored(transaction: Transaction) -> StoredValue:
    is_empty = transaction.state is TransactionState.EMPTY
    check(not (is_empty and transaction.partitions), "an id that has begun nothing has no partitions")
    topics = tuple(
        PartitionsOfTopic(topic, tuple(partition for _, partition in entries))
        for topic, entries in groupby(transaction.partitions, key=lambda entry: entry.topic)
    )
    return StoredValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=None if is_empty else topics,
        transaction_last_update_timestamp_ms=transaction.last_update_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        client_transaction_version=transaction.client_version,
    )


def decode_record(key: bytes, value: bytes | None) -> TransactionRecord | None:
    """The record, or None where its kind is not ours."""
    source = Source(key)
    if INT16.unpack(source.take(INT16.size))[0] != KIND:
        return None
    stored: StoredKey = KEY.take(source, PLAIN)
    _check_exhausted(source, "key")
    return TransactionRecord(stored.transactional_id, None if value is None else decode_transaction(value))


def decode_transaction(value: bytes) -> Transaction:
    source = Source(value)
    version = INT16.unpack(source.take(INT16.size))[0]
    if version not in (PLAIN_VERSION, FLEXIBLE_VERSION):
        raise CorruptData(f"a transaction's value has the unknown version {version}")
    stored: StoredValue = VALUE.take(source, Dialect(version, version >= FLEXIBLE_VERSION))
    _check_exhausted(source, "value")
    if stored.transaction_status not in STORED_STATES:
        raise CorruptData(f"a transaction's value has the status {stored.transaction_status}, which is never stored")
    return Transaction(
        state=TransactionState(stored.transaction_status),
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        timeout_ms=stored.transaction_timeout_ms,
        partitions=tuple(
            sorted(
                TopicPartition(entry.topic, partition)
                for entry in stored.transaction_partitions or ()
                for partition in entry.partition_ids
            )
        ),
        start_ms=stored.transaction_start_timestamp_ms,
        last_update_ms=stored.transaction_last_update_timestamp_ms,
        client_version=stored.client_transaction_version,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
    )


def _check_exhausted(source: Source, what: str) -> None:
    if not source.is_exhausted:
        extra_bytes = len(source.data) - source.position
        raise CorruptData(f"{extra_bytes} bytes follow the {what} of a transaction's record")
