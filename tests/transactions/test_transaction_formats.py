"""`__transaction_state` in Kafka's bytes (SPEC P3): logs that real coordinators wrote, golden bytes worked out by hand
from Kafka's schemas for what those logs have not, round trips, and bad bytes refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strandline.model.failures import BrokenInvariant, CorruptData
from strandline.model.partitions import TopicPartition
from strandline.records.batch import split_batches
from strandline.records.record import read_records
from strandline.transactions.formats import (
    FLEXIBLE_VERSION,
    PLAIN_VERSION,
    decode_record,
    decode_transaction,
    encode_record,
    encode_transaction,
)
from strandline.transactions.records import Transaction, TransactionRecord
from strandline.transactions.states import TransactionState

GOLDEN = Path(__file__).parent.parent / "golden"
PREPARED = Transaction(
    state=TransactionState.PREPARE_COMMIT,
    producer_id=7,
    producer_epoch=32767,
    timeout_ms=1000,
    partitions=(TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)),
    start_ms=5,
    last_update_ms=6,
    client_version=2,
    next_producer_id=9,
)
EMPTY = Transaction(state=TransactionState.EMPTY, producer_id=7, producer_epoch=3, timeout_ms=1000, last_update_ms=6)
# producer id, epoch, timeout
HEAD = "0000000000000007 7fff 000003e8"
TIMES = "0000000000000006 0000000000000005"
PARTITIONS = "00000002 0001 61 00000002 00000000 00000002 0001 62 00000001 00000001"
FLEXIBLE_PARTITIONS = "03 02 61 03 00000000 00000002 00 02 62 02 00000001 00"


def stored_records(series: str) -> Iterator[tuple[bytes, bytes | None]]:
    data = bytearray((GOLDEN / f"transaction-state-{series}.log").read_bytes())
    for batch in split_batches(data):
        for record in read_records(batch):
            assert record.key is not None
            yield bytes(record.key), None if record.value is None else bytes(record.value)


@pytest.mark.parametrize(("series", "transaction_version"), [("3.9", 0), ("4.3", 2)])
def test_what_kafkas_coordinator_wrote_is_read_and_written_byte_for_byte(series: str, transaction_version: int) -> None:
    count = 0
    for key, value in stored_records(series):
        record = decode_record(key, value)
        assert record is not None
        assert encode_record(record, transaction_version) == (key, value)
        count += 1
    assert count > 30


def test_what_kafkas_coordinator_wrote_makes_sense() -> None:
    states = [
        record.transaction.state
        for key, value in stored_records("4.3")
        if (record := decode_record(key, value)) and record.transaction and record.transactional_id == "blue"
    ]
    assert states[:4] == [
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.COMPLETE_COMMIT,
    ]


def test_a_key() -> None:
    assert encode_record(TransactionRecord("pay", None), 2) == (bytes.fromhex("0000 0003 706179"), None)


def test_a_plain_value() -> None:
    plain = replace(PREPARED, next_producer_id=-1)
    assert encode_transaction(plain, PLAIN_VERSION) == bytes.fromhex(f"0000 {HEAD} 02 {PARTITIONS} {TIMES}")


def test_a_flexible_value_has_three_tags() -> None:
    rotated = replace(PREPARED, previous_producer_id=8)
    golden = bytes.fromhex(
        f"0001 {HEAD} 02 {FLEXIBLE_PARTITIONS} {TIMES} 0300 08 0000000000000008  01 08 0000000000000009  02 02 0002"
    )
    assert encode_transaction(rotated, FLEXIBLE_VERSION) == golden
    assert decode_transaction(golden) == rotated


def test_an_id_that_has_begun_nothing_has_null_for_partitions() -> None:
    times = "0000000000000006 ffffffffffffffff"
    plain = bytes.fromhex(f"0000 0000000000000007 0003 000003e8 00 ffffffff {times}")
    flexible = bytes.fromhex(f"0001 0000000000000007 0003 000003e8 00 00 {times} 00")
    assert encode_transaction(EMPTY, PLAIN_VERSION) == plain
    assert encode_transaction(EMPTY, FLEXIBLE_VERSION) == flexible
    assert decode_transaction(plain) == decode_transaction(flexible) == EMPTY


def test_a_complete_one_has_none() -> None:
    complete = replace(PREPARED, state=TransactionState.COMPLETE_ABORT, partitions=(), next_producer_id=-1)
    plain = bytes.fromhex(f"0000 {HEAD} 05 00000000 {TIMES}")
    assert encode_transaction(complete, PLAIN_VERSION) == plain
    assert decode_transaction(plain) == replace(complete, client_version=0)


def test_a_plain_value_cannot_hide_a_next_producer_id() -> None:
    with pytest.raises(BrokenInvariant):
        encode_transaction(PREPARED, PLAIN_VERSION)


def test_tags_of_the_future_are_skipped() -> None:
    """KIP-915; tag 3 is KIP-939's, 100 nobody's, at the end and within a topic."""
    partitions = "02 02 61 02 00000000 01 64 01 ff"
    golden = bytes.fromhex(f"0001 {HEAD} 02 {partitions} {TIMES} 03 02 02 0002 03 02 0005 64 01 00")
    found = decode_transaction(golden)
    assert (found.partitions, found.client_version) == ((TopicPartition("a", 0),), 2)


@pytest.mark.parametrize("kind", ["0001", "7fff", "ffff"])
def test_kinds_that_are_not_ours_are_skipped(kind: str) -> None:
    assert decode_record(bytes.fromhex(kind) + b"whatever", b"whatever") is None


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("00", None, "do not fit"),
        ("0000 0004 706179", None, "do not fit"),
        ("0000 ffff", None, "do not fit"),
        ("0000 0003 706179 00", None, "1 bytes follow the key"),
        ("0000 0001 ff", None, "not UTF-8"),
        ("0000 0001 70", "00", "do not fit"),
        ("0000 0001 70", "0002", "unknown version 2"),
        ("0000 0001 70", f"0000 {HEAD} 02 {PARTITIONS} {TIMES} 00", "1 bytes follow the value"),
        ("0000 0001 70", f"0000 {HEAD} 06 {PARTITIONS} {TIMES}", "status 6, which is never stored"),
        ("0000 0001 70", f"0000 {HEAD} 07 {PARTITIONS} {TIMES}", "status 7"),
        ("0000 0001 70", f"0000 {HEAD} ff {PARTITIONS} {TIMES}", "status -1"),
        ("0000 0001 70", f"0000 {HEAD} 01 7fffffff {TIMES}", "array of 2147483647"),
        ("0000 0001 70", f"0001 {HEAD} 01 ffffffffff {TIMES}", "too long"),
    ],
)
def test_damage_is_named(key: str, value: str | None, reason: str) -> None:
    with pytest.raises(CorruptData, match=reason):
        decode_record(bytes.fromhex(key), None if value is None else bytes.fromhex(value))


INT16, INT32, INT64 = (st.integers(-(2**bits), 2**bits - 1) for bits in (15, 31, 63))
NAMES = st.text(st.characters(codec="utf-8"), max_size=20)


@st.composite
def transactions(draw: st.DrawFn) -> Transaction:
    state = draw(st.sampled_from([TransactionState(number) for number in range(6)]))
    partitions = draw(st.sets(st.builds(TopicPartition, NAMES, INT32), max_size=5))
    return Transaction(
        state=state,
        producer_id=draw(INT64),
        producer_epoch=draw(INT16),
        timeout_ms=draw(INT32),
        partitions=() if state is TransactionState.EMPTY else tuple(sorted(partitions)),
        start_ms=draw(INT64),
        last_update_ms=draw(INT64),
        client_version=draw(INT16),
        previous_producer_id=draw(INT64),
        next_producer_id=draw(INT64),
    )


@given(NAMES, transactions())
@settings(max_examples=150)
def test_decoding_undoes_encoding(transactional_id: str, transaction: Transaction) -> None:
    record = TransactionRecord(transactional_id, transaction)
    assert decode_record(*encode_record(record, 2)) == record
    assert len(str(record).splitlines()) == 1
    plain = replace(transaction, client_version=0, previous_producer_id=-1, next_producer_id=-1)
    assert decode_transaction(encode_transaction(plain, PLAIN_VERSION)) == plain


@given(transactions(), st.sampled_from([PLAIN_VERSION, FLEXIBLE_VERSION]), st.data())
@settings(max_examples=100)
def test_cut_bytes_never_pass(transaction: Transaction, version: int, data: st.DataObject) -> None:
    encoded = encode_transaction(replace(transaction, next_producer_id=-1), version)
    kept = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(CorruptData):
        decode_transaction(encoded[:kept])


@given(st.binary(max_size=80), st.sampled_from(["0000", "0001"]))
def test_no_bytes_do_worse_than_be_refused(noise: bytes, version: str) -> None:
    try:
        found = decode_transaction(bytes.fromhex(version) + noise)
    except CorruptData:
        return
    assert found.state in TransactionState
