"""A segment whose offsets outgrew its indexes is split when it is found (KAFKA-6264, SPEC L7).

Indexes hold offsets relative to the segment's name, in 31 bits. Kafka before 1.0 could compact so many segments into
one that the last offsets do not fit. Only a segment that was compacted can be so, never the active one, and only where
the next segment begins more than 2**31 offsets later.

The parts are written aside (`.cleaned`), synced, renamed `.swap` from the last to the first, and only then take the
place of the whole. `leftovers` goes back as long as a `.cleaned` file is there, and forward from then on: each rename
is durable before the next.
"""

from __future__ import annotations

from itertools import pairwise

from strandline.log import names
from strandline.log.filesystem import FileSystem
from strandline.log.segment import RELATIVE_OFFSET_MAX, Segment
from strandline.model.failures import CorruptData
from strandline.records.heads import head_of


def split_overflowed(filesystem: FileSystem, segments: list[Segment], findings: list[str]) -> list[Segment]:
    """The segments of a log in order, each too large one replaced by its parts."""
    settled: list[Segment] = []
    for segment, following in pairwise(segments):
        is_suspect = following.base_offset - segment.base_offset > RELATIVE_OFFSET_MAX + 1
        if is_suspect and _overflows(segment):
            parts = _split(filesystem, segment)
            findings.append(f"{segment}: its offsets do not fit its indexes; split into {len(parts)}")
            settled += parts
        else:
            settled.append(segment)
    return [*settled, *segments[-1:]]


def _overflows(segment: Segment) -> bool:
    try:
        return any(not segment.fits_offset(head.last_offset) for _, head in segment.heads())
    except CorruptData:
        return False  # damage, for recovery to judge


def _split(filesystem: FileSystem, whole: Segment) -> list[Segment]:
    parts = _write_parts(filesystem, whole)
    for part in reversed(parts):
        part.change_suffix(names.SWAP)
        filesystem.sync_directory(whole.directory)
    whole.change_suffix(names.DELETED)
    whole.remove_files()
    for part in parts:
        part.change_suffix("")
    filesystem.sync_directory(whole.directory)
    return parts


def _write_parts(filesystem: FileSystem, whole: Segment) -> list[Segment]:
    parts = [_new_part(filesystem, whole, whole.base_offset)]
    for _, batch in whole.batches():
        head = head_of(batch)
        if not parts[-1].fits_offset(head.last_offset):
            parts.append(_new_part(filesystem, whole, head.base_offset))
        parts[-1].append([batch], [(head.size_bytes, head.last_offset, head.max_timestamp)])
    for aborted in whole.aborted.all():
        next(part for part in reversed(parts) if part.base_offset <= aborted.last_offset).aborted.append(aborted)
    for part in parts:
        part.finish()
        for file in (part.file, part.offset_index, part.time_index, part.aborted):
            file.sync()
    filesystem.sync_directory(whole.directory)
    return parts


def _new_part(filesystem: FileSystem, whole: Segment, base_offset: int) -> Segment:
    return Segment.create(
        filesystem, whole.directory, base_offset, whole.settings, now_ms=whole.created_ms, suffix=names.CLEANED
    )
