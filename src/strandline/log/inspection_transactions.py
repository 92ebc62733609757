"""Where the open transactions of a folder begin, found without opening its log: readers of committed data stop there.

The newest producer snapshot that can be read knows those that were open at its offset; the batches from there on tell
what was begun and ended since.
"""

from __future__ import annotations

from strandline.log import names
from strandline.log.filesystem import FileSystem, read_whole
from strandline.log.inspection import SegmentFiles
from strandline.log.producer_snapshots import decode_snapshot
from strandline.log.scan import scan_heads
from strandline.model.failures import CorruptData


def first_undecided_offset(filesystem: FileSystem, directory: str, segments: list[SegmentFiles]) -> int | None:
    """None if no transaction is open, as far as the bytes can be read."""
    start_offset, undecided = _newest_snapshot(filesystem, directory)
    for segment in segments:
        if segment.next_base_offset is None or segment.next_base_offset > start_offset:
            try:
                _follow(segment, start_offset, undecided)
            except CorruptData:
                break
    return min(undecided.values(), default=None)


def _newest_snapshot(filesystem: FileSystem, directory: str) -> tuple[int, dict[int, int]]:
    for name in reversed(filesystem.names(directory)):
        parsed = names.parse_offset_name(name)
        if parsed is None or parsed[1] != names.SNAPSHOT:
            continue
        try:
            entries = decode_snapshot(read_whole(filesystem, f"{directory}/{name}"))
        except CorruptData:
            continue
        begun = ((entry.producer_id, entry.current_transaction_first_offset) for entry in entries)
        return parsed[0], {producer_id: offset for producer_id, offset in begun if offset is not None}
    return 0, {}


def _follow(segment: SegmentFiles, start_offset: int, undecided: dict[int, int]) -> None:
    """A control batch of a producer can only be the marker that ends its transaction."""
    log = segment.open_log()
    try:
        for _, head in scan_heads(log, 0, segment.size_bytes):
            if head.base_offset < start_offset or not head.is_transactional:
                continue
            if head.is_control:
                undecided.pop(head.producer_id, None)
            else:
                undecided.setdefault(head.producer_id, head.base_offset)
    finally:
        log.close()
