"""Which segments compaction reads, and which of them become one (SPEC C6)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from strandline.log import names
from strandline.log.log import Log
from strandline.log.segment import RELATIVE_OFFSET_MAX, Segment
from strandline.model.settings import LogSettings


class CompactionSource(NamedTuple):
    """A closed segment as it was when the compaction was planned. The object itself belongs to the log's owner."""

    segment: Segment
    path: str
    base_offset: int
    end_offset: int  # where the next segment begins
    size_bytes: int
    index_bytes: int  # of the larger of its two indexes


def read_sources(log: Log, end_offset: int) -> tuple[list[CompactionSource], Segment]:
    """The segments that lie wholly below `end_offset`, and the one after them."""
    sizes = log.filesystem.sizes(log.directory)
    segments = log.segments.all()
    sources: list[CompactionSource] = []
    for segment, following in pairwise(segments):
        if following.base_offset > end_offset:
            break
        index_names = (names.offset_name(segment.base_offset, kind) for kind in (names.OFFSET_INDEX, names.TIME_INDEX))
        sources.append(
            CompactionSource(
                segment,
                segment.path(names.LOG),
                segment.base_offset,
                following.base_offset,
                segment.size_bytes,
                max(sizes.get(name, 0) for name in index_names),
            )
        )
    return sources, segments[len(sources)]


def group_sources(sources: Iterable[CompactionSource], settings: LogSettings) -> list[list[CompactionSource]]:
    """Neighbours that fit into one segment: by size, by index size, and by the range of relative offsets.

    Without this, segments would only ever shrink; without the range, sparse offsets would not fit the indexes
    (KAFKA-6264).
    """
    groups: list[list[CompactionSource]] = []
    size_bytes = index_bytes = 0
    for source in sources:
        size_bytes += source.size_bytes
        index_bytes += source.index_bytes
        if (
            not groups
            or size_bytes > settings.segment_bytes
            or index_bytes > settings.segment_index_bytes
            or (source.size_bytes and source.end_offset - 1 - groups[-1][0].base_offset > RELATIVE_OFFSET_MAX)
        ):
            groups.append([])
            size_bytes, index_bytes = source.size_bytes, source.index_bytes
        groups[-1].append(source)
    return groups
