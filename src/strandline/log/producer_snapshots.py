"""Producer snapshots: the producers of a partition as of an offset, in `<offset, 20 digits>.snapshot` (SPEC
L1, P2).

    position  size  field
           0     2  version = 1
           2     4  CRC-32C of everything after it
           6     4  entry count
          10        entries, 46 bytes each:
                 8  producer id
                 2  producer epoch
                 4  last sequence, -1 when only a marker is known
                 8  last offset, -1 likewise
                 4  offset delta: last offset minus first offset of the last batch
                 8  timestamp of the last batch or marker
                 4  coordinator epoch, -1 before the first marker
                 8  first offset of the open transaction, -1 when there is none

Of the last five batches only the last is kept, as in Kafka. One is written when a segment is rolled, at the
new segment's base offset, and one on shutdown at the log's end; after a crash the log is replayed from the
newest one that can be read. A snapshot is only a short cut: one that is damaged is removed and an older one
serves (KAFKA-5747).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from struct import Struct

from strandline.log.filesystem import FileSystem, read_whole, replace, replace_durably
from strandline.log.producer_entry import SEQUENCE_MAX, CachedBatch, ProducerEntry
from strandline.log.producer_state import ProducerState
from strandline.model.failures import CorruptData
from strandline.records.batch import NO_SEQUENCE
from strandline.records.crc import crc32c

VERSION = 1
HEAD = Struct(">hIi")
CRC_END = 6
ENTRY = Struct(">qhiqiqiq")
NONE = -1
SNAPSHOT_NAME = re.compile(r"([0-9]{20})\.snapshot")


def snapshot_name(offset: int) -> str:
    return f"{offset:020d}.snapshot"


def encode_snapshot(entries: Collection[ProducerEntry]) -> bytes:
    encoded = bytearray(HEAD.pack(VERSION, 0, len(entries)))
    for entry in entries:
        encoded += _encode_entry(entry)
    HEAD.pack_into(encoded, 0, VERSION, crc32c(memoryview(encoded)[CRC_END:]), len(entries))
    return bytes(encoded)


def _encode_entry(entry: ProducerEntry) -> bytes:
    batch, transaction = entry.last_batch, entry.current_transaction_first_offset
    return ENTRY.pack(
        entry.producer_id,
        entry.producer_epoch,
        NO_SEQUENCE if batch is None else batch.last_sequence,
        NONE if batch is None else batch.last_offset,
        0 if batch is None else batch.last_offset - batch.first_offset,
        entry.last_timestamp,
        entry.coordinator_epoch,
        NONE if transaction is None else transaction,
    )


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    if len(data) < HEAD.size:
        raise CorruptData(f"a producer snapshot has {HEAD.size} bytes or more, this one {len(data)}")
    version, crc, count = HEAD.unpack_from(data)
    if version != VERSION:
        raise CorruptData(f"a producer snapshot of version {version} cannot be read")
    if crc32c(memoryview(data)[CRC_END:]) != crc:
        raise CorruptData("the CRC of a producer snapshot does not match its bytes")
    if len(data) != HEAD.size + count * ENTRY.size:
        raise CorruptData(f"a producer snapshot says {count} entries and has {len(data)} bytes")
    return [_decode_entry(*fields) for fields in ENTRY.iter_unpack(memoryview(data)[HEAD.size :])]


def _decode_entry(
    producer_id: int,
    producer_epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    current_transaction_first_offset: int,
) -> ProducerEntry:
    batch = None
    if last_offset >= 0:
        has_sequence = last_sequence != NO_SEQUENCE
        first_sequence = (last_sequence - offset_delta) & SEQUENCE_MAX if has_sequence else NO_SEQUENCE
        batch = CachedBatch(first_sequence, last_sequence, last_offset - offset_delta, last_offset, timestamp)
    return ProducerEntry(
        producer_id,
        producer_epoch,
        coordinator_epoch=coordinator_epoch,
        last_timestamp=timestamp,
        current_transaction_first_offset=current_transaction_first_offset
        if current_transaction_first_offset >= 0
        else None,
        last_batch=batch,
    )


def _check_lies_below(offset: int, entries: Iterable[ProducerEntry]) -> None:
    """A CRC can hold over anything: transactions that begin later, or two at once, would end the replay."""
    starts = [entry.current_transaction_first_offset for entry in entries]
    first_offsets = [start for start in starts if start is not None]
    if len(set(first_offsets)) < len(first_offsets) or max(first_offsets, default=-1) >= offset:
        raise CorruptData(f"a producer snapshot at offset {offset} has transactions that begin elsewhere")


class ProducerSnapshots:
    """The snapshot files of one partition's folder. Nothing is remembered here: the folder is the truth."""

    __slots__ = ("_directory", "_filesystem")

    def __init__(self, filesystem: FileSystem, directory: str) -> None:
        self._filesystem = filesystem
        self._directory = directory

    def offsets(self) -> list[int]:
        matches = map(SNAPSHOT_NAME.fullmatch, self._filesystem.names(self._directory))
        return sorted(int(match[1]) for match in matches if match)

    def paths_from(self, offset: int) -> list[str]:
        return [self._path(found) for found in self.offsets() if found >= offset]

    def take(self, state: ProducerState, *, durable: bool) -> str | None:
        """Write the state at its end offset; None if the folder has that already, or there is no log yet.

        When a segment is rolled, in the middle of an append, nothing is synced: the path comes back and is synced
        with the segment. A torn one fails its CRC, which costs a longer replay and no more.
        """
        path = self._path(state.map_end_offset)
        if state.map_end_offset == 0 or self._filesystem.exists(path):
            return None
        data = encode_snapshot(state.entries())
        if durable:
            replace_durably(self._filesystem, path, data)
        else:
            replace(self._filesystem, path, data)
        return path

    def load_latest(
        self,
        state: ProducerState,
        *,
        log_start_offset: int,
        at_or_below: int,
        now_ms: int,
        expiration_ms: int,
    ) -> int:
        """Set `state` from the newest sound snapshot in the range; returns where the replay must begin."""
        for offset in reversed(self.offsets()):
            if log_start_offset <= offset <= at_or_below:
                try:
                    entries = decode_snapshot(read_whole(self._filesystem, self._path(offset)))
                    _check_lies_below(offset, entries)
                except CorruptData:
                    self.remove(offset)
                else:
                    state.load(entries, offset, now_ms, expiration_ms)
                    return offset
        state.truncate_fully_and_start_at(log_start_offset)
        return log_start_offset

    def remove(self, offset: int) -> None:
        path = self._path(offset)
        if self._filesystem.exists(path):
            self._filesystem.remove(path)

    def remove_above(self, offset: int) -> None:
        """After truncation to `offset`. They must not come back after a crash: the records are others."""
        above = [found for found in self.offsets() if found > offset]
        self._remove_all(above)
        if above:
            self._filesystem.sync_directory(self._directory)

    def remove_all(self) -> None:
        self.remove_above(-1)

    def remove_strays(self, segment_base_offsets: Collection[int]) -> None:
        """Keep those at a segment's base, and the newest one above all of them: a clean shutdown's."""
        newest_base = max(segment_base_offsets, default=-1)
        strays = sorted(set(self.offsets()) - set(segment_base_offsets))
        if strays and strays[-1] > newest_base:
            strays.pop()
        self._remove_all(strays)

    def _remove_all(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            self.remove(offset)

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{snapshot_name(offset)}"
