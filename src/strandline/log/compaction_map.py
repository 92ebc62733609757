"""Filling the offset map from the part of a log that was not cleaned yet (SPEC C6).

Control batches have keys of their own kind and are never mapped (KAFKA-14055); what an aborted transaction wrote is not
mapped either, or it would push out the committed value of a key. When the map has no room for a key, mapping stops in
front of that record, amid a batch if need be: the cleaning then covers the log up to there, and the next one goes on
from there, so that even a map of one key gets to the end (KAFKA-13727).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from strandline.log.cleaned_transactions import CleanedTransactions
from strandline.log.compaction_records import KeyedRecords
from strandline.log.offset_map import OffsetMap, short_key
from strandline.records.batch import MAGIC_V2, BatchHead
from strandline.records.heads import head_of, verified_head_of
from strandline.records.record import read_records

Batches = Iterable[tuple[int, memoryview]]


def fill_from_segment(
    offset_map: OffsetMap,
    batches: Batches,
    transactions: CleanedTransactions,
    *,
    first_dirty_offset: int,
    end_offset: int,
) -> bool:
    """Map one segment, which ends at `end_offset`; False when the map was full before that."""
    for _, batch in batches:
        head = head_of(batch)
        if head.last_offset < first_dirty_offset or head.is_control or transactions.is_aborted(head):
            continue
        if head.record_count and not _put_batch(offset_map, batch, head, first_dirty_offset):
            return False
    # Offsets above the last batch are gone for good: without this step a gap would stop compaction (KAFKA-8764).
    offset_map.latest_offset = end_offset - 1
    return True


def _put_batch(offset_map: OffsetMap, batch: memoryview, head: BatchHead, first_dirty_offset: int) -> bool:
    if head.magic != MAGIC_V2:
        verified_head_of(batch)
        pairs = [(None if each.key is None else short_key(each.key), each.offset) for each in read_records(batch)]
        return _put_one_by_one(offset_map, iter(pairs), first_dirty_offset)
    records = KeyedRecords(batch, head)
    if (
        not records.has_null_keys
        and head.base_offset >= first_dirty_offset
        and offset_map.put_all(records.keys, records.offsets, records.key_bytes_max)  # type: ignore[arg-type]
    ):
        return True
    return _put_one_by_one(offset_map, zip(records.keys, records.offsets, strict=True), first_dirty_offset)


def _put_one_by_one(offset_map: OffsetMap, pairs: Iterator[tuple[bytes | None, int]], first_dirty_offset: int) -> bool:
    for key, offset in pairs:
        if key is not None and offset >= first_dirty_offset and not offset_map.put(key, offset):
            offset_map.latest_offset = offset - 1
            return False
    return True
