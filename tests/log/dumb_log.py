"""A log read the dumb way: whole files, plain loops, nothing shared with `strandline.log`.

What the log derives with indexes, snapshots and checkpoints is derived here from the batches alone, each time from
the first one on. Tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from strandline.records.record import read_records

HEAD = Struct(">qiibIhiqqqhii")
TRANSACTIONAL, CONTROL = 0x10, 0x20


class StoredBatch(NamedTuple):
    segment: int
    position: int
    data: bytes
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int


class Producer(NamedTuple):
    producer_epoch: int
    last_sequence: int
    last_offset: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_first_offset: int | None


class Aborted(NamedTuple):
    segment: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def read_valid_batches(segment: int, data: bytes) -> list[StoredBatch]:
    """The longest prefix of a `.log` file that is made of whole, sound batches in ascending order."""
    batches: list[StoredBatch] = []
    position, next_offset = 0, segment
    while len(data) - position >= HEAD.size:
        batch = _read_batch(segment, position, data)
        if batch is None or batch.base_offset < next_offset or batch.last_offset - segment > 2**31 - 1:
            break
        batches.append(batch)
        position, next_offset = position + len(batch.data), batch.last_offset + 1
    return batches


def _read_batch(segment: int, position: int, data: bytes) -> StoredBatch | None:
    base, length, epoch, magic, crc, attributes, delta, _, timestamp, producer, producer_epoch, sequence, count = (
        HEAD.unpack_from(data, position)
    )
    end = position + 12 + length
    if magic != 2 or length < HEAD.size - 12 or end > len(data) or crc32c(data[position + 21 : end]) != crc:
        return None
    if delta < 0 or count < 0:
        return None
    return StoredBatch(
        segment,
        position,
        data[position:end],
        base,
        base + delta,
        epoch,
        attributes,
        timestamp,
        producer,
        producer_epoch,
        sequence,
    )


def epochs_of(batches: Iterable[StoredBatch]) -> list[tuple[int, int]]:
    entries: list[tuple[int, int]] = []
    for batch in batches:
        if batch.leader_epoch > (entries[-1][0] if entries else -1):
            entries.append((batch.leader_epoch, batch.base_offset))
    return entries


def offset_index_of(batches: Iterable[StoredBatch], interval_bytes: int) -> list[tuple[int, int]]:
    return [(batch.last_offset, batch.position) for batch in _indexed(batches, interval_bytes)]


def time_index_of(batches: Sequence[StoredBatch], interval_bytes: int) -> list[tuple[int, int]]:
    """At the same places as the offset index, and once more for the end of the segment."""
    indexed = {batch.position for batch in _indexed(batches, interval_bytes)}
    entries: list[tuple[int, int]] = []
    latest = (-1, -1)
    for number, batch in enumerate(batches):
        if batch.max_timestamp > latest[0]:
            latest = (batch.max_timestamp, batch.last_offset)
        is_due = batch.position in indexed or number == len(batches) - 1
        if is_due and latest[0] > (entries[-1][0] if entries else -1):
            entries.append(latest)
    return entries


def _indexed(batches: Iterable[StoredBatch], interval_bytes: int) -> list[StoredBatch]:
    found: list[StoredBatch] = []
    bytes_since_entry = 0
    for batch in batches:
        if bytes_since_entry > interval_bytes:
            found.append(batch)
            bytes_since_entry = 0
        bytes_since_entry += len(batch.data)
    return found


def producers_and_aborted_of(batches: Iterable[StoredBatch]) -> tuple[dict[int, Producer], list[Aborted]]:
    producers: dict[int, Producer] = {}
    aborted: list[Aborted] = []
    for batch in batches:
        if batch.producer_id < 0:
            continue
        known = producers.get(batch.producer_id)
        if batch.attributes & CONTROL:
            is_commit, coordinator_epoch = _read_marker(batch)
            first_offset = known.transaction_first_offset if known else None
            producers[batch.producer_id] = _after_marker(batch, known, coordinator_epoch)
            if first_offset is not None and not is_commit:
                stable = _last_stable_offset(producers, batch.last_offset + 1)
                aborted.append(Aborted(batch.segment, batch.producer_id, first_offset, batch.last_offset, stable))
        else:
            producers[batch.producer_id] = _after_data(batch, known)
    return producers, aborted


def _after_data(batch: StoredBatch, known: Producer | None) -> Producer:
    first_offset = known.transaction_first_offset if known else None
    if first_offset is None and batch.attributes & TRANSACTIONAL:
        first_offset = batch.base_offset
    return Producer(
        batch.producer_epoch,
        (batch.base_sequence + batch.last_offset - batch.base_offset) & 0x7FFF_FFFF,
        batch.last_offset,
        batch.max_timestamp,
        known.coordinator_epoch if known else -1,
        first_offset,
    )


def _after_marker(batch: StoredBatch, known: Producer | None, coordinator_epoch: int) -> Producer:
    is_same_epoch = known is not None and known.producer_epoch == batch.producer_epoch
    return Producer(
        batch.producer_epoch,
        known.last_sequence if known and is_same_epoch else -1,
        known.last_offset if known and is_same_epoch else -1,
        batch.max_timestamp,
        coordinator_epoch,
        None,
    )


def _last_stable_offset(producers: dict[int, Producer], otherwise: int) -> int:
    open_offsets = [each.transaction_first_offset for each in producers.values()]
    return min((offset for offset in open_offsets if offset is not None), default=otherwise)


def _read_marker(batch: StoredBatch) -> tuple[bool, int]:
    record = next(read_records(batch.data))
    assert record.key is not None
    assert record.value is not None
    return record.key[3] == 1, int.from_bytes(record.value[2:6], "big", signed=True)


class TimedRecord(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int


def timed_records_of(batches: Iterable[StoredBatch]) -> list[TimedRecord]:
    return [
        TimedRecord(record.timestamp, record.offset, batch.leader_epoch)
        for batch in batches
        for record in read_records(batch.data)
    ]
