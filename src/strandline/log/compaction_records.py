"""The records of a batch as compaction needs them: keys and offsets as columns, nothing copied but the keys."""

from __future__ import annotations

from array import array

from strandline.log.offset_map import SHORT_KEY_BYTES_MAX, short_key
from strandline.records.batch import BatchHead, Buffer, verify_batch
from strandline.records.record import records_section
from strandline.records.walk import (
    COLUMNS,
    KEY_LENGTH,
    KEY_POSITION,
    OFFSET_DELTA,
    VALUE_LENGTH,
    walk_records,
)


class KeyedRecords:
    """`keys` have gone through `short_key`; a record without a key has None."""

    __slots__ = ("columns", "has_null_keys", "key_bytes_max", "keys", "offsets", "section")

    def __init__(self, batch: Buffer, head: BatchHead) -> None:
        verify_batch(batch)  # a new CRC over rotten bytes would make them good, and a rotten key would cost others
        self.section = section = bytes(records_section(batch))
        self.columns = columns = walk_records(section, head.record_count)
        lengths = columns[KEY_LENGTH::COLUMNS]
        self.has_null_keys = min(lengths) < 0
        self.key_bytes_max = max(lengths)
        self.keys = self._read_keys(section, columns[KEY_POSITION::COLUMNS], lengths)
        base_offset = head.base_offset
        self.offsets = [base_offset + delta for delta in columns[OFFSET_DELTA::COLUMNS]]

    def _read_keys(self, section: bytes, positions: array[int], lengths: array[int]) -> list[bytes | None]:
        if self.has_null_keys:
            return [
                short_key(section[position : position + length]) if length >= 0 else None
                for position, length in zip(positions, lengths, strict=True)
            ]
        keys = [section[position : position + length] for position, length in zip(positions, lengths, strict=True)]
        return list(map(short_key, keys)) if self.key_bytes_max > SHORT_KEY_BYTES_MAX else keys  # type: ignore[return-value]

    @property
    def value_lengths(self) -> array[int]:
        return self.columns[VALUE_LENGTH::COLUMNS]
