"""Half-done work that a crash left in a partition folder, resolved as Kafka resolves it (SPEC L7, C6).

.deleted, .tmp   garbage: removed
.cleaned         an unfinished compaction or split: removed; the segments it was made from are still there
.swap            finished and synced, about to replace: takes its place, and every old segment whose offsets it
                 covers goes, unless a `.cleaned` file at or below it shows that its group was not complete
"""

from __future__ import annotations

from strandline.log import names
from strandline.log.filesystem import FileSystem
from strandline.log.segment import Segment
from strandline.model.failures import CorruptData
from strandline.model.settings import LogSettings


def resolve_leftovers(filesystem: FileSystem, directory: str, settings: LogSettings, findings: list[str]) -> None:
    swaps = _remove_unfinished(filesystem, directory, findings)
    if not swaps:
        return
    covered = _covered_offsets(filesystem, directory, settings, swaps)
    # The name that we see may not be on the disk yet, where it still is `.cleaned` beside what it replaces.
    filesystem.sync_directory(directory)
    for name in filesystem.sizes(directory):
        parsed = names.parse_offset_name(name)
        if parsed is not None and parsed[0] in covered and parsed[1] in names.SEGMENT_SUFFIXES:
            findings.append(f"removed {name}: replaced by a finished compaction")
            filesystem.remove(f"{directory}/{name}")
    # What was replaced must be gone for good before its successor takes the name.
    filesystem.sync_directory(directory)
    _put_in_place(filesystem, directory, swaps, findings)


def _put_in_place(filesystem: FileSystem, directory: str, swaps: list[str], findings: list[str]) -> None:
    """The `.log` files first, the lowest first: after a further crash, what is above a `.log.swap` counts as old."""
    logs = [name for name in swaps if name.endswith(names.LOG + names.SWAP)]
    for name in (*logs, *(name for name in swaps if name not in logs)):
        findings.append(f"put {name} in place")
        filesystem.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(names.SWAP)}")
        if name in logs:
            filesystem.sync_directory(directory)
    filesystem.sync_directory(directory)


def _remove_unfinished(filesystem: FileSystem, directory: str, findings: list[str]) -> list[str]:
    """Remove what cannot be used; returns the names of the swap files that can."""
    found = list(filesystem.sizes(directory))  # files only: a folder is not ours, whatever its name
    cleaned = [name for name in found if name.endswith(names.CLEANED)]
    swaps = [name for name in found if name.endswith(names.SWAP)]
    first_unfinished = min((_offset(name) for name in cleaned), default=None)
    unusable = [name for name in swaps if first_unfinished is not None and _offset(name) >= first_unfinished]
    garbage = [name for name in found if name.endswith((names.DELETED, ".tmp"))]
    # Swap files before the cleaned ones that condemn them: after another crash the verdict must be the same.
    for name in (*unusable, *cleaned, *garbage):
        waited = name.endswith(names.DELETED)
        why = "it waited to be deleted" if waited else "left over from work that was not finished"
        findings.append(f"removed {name}: {why}")
        filesystem.remove(f"{directory}/{name}")
        if name in unusable:
            filesystem.sync_directory(directory)
    return [name for name in swaps if name not in unusable]


def _offset(name: str) -> int:
    parsed = names.parse_offset_name(name)
    return parsed[0] if parsed else 0


def _covered_offsets(filesystem: FileSystem, directory: str, settings: LogSettings, swaps: list[str]) -> range:
    """From the first base offset of the swapped segments to the end of the last."""
    start: int | None = None
    end = 0
    for name in swaps:
        parsed = names.parse_offset_name(name)
        if parsed is None or parsed[1] != names.LOG + names.SWAP:
            continue
        size_bytes = filesystem.size(f"{directory}/{name}")
        segment = Segment(filesystem, directory, parsed[0], settings, size_bytes=size_bytes, suffix=names.SWAP)
        start = parsed[0] if start is None else min(start, parsed[0])
        end = max(end, _end_offset(segment), parsed[0] + 1)  # one without a batch replaces its namesake
    return range(0) if start is None else range(start, end)


def _end_offset(segment: Segment) -> int:
    end = segment.base_offset
    try:
        for _, head in segment.heads():
            end = head.next_offset
    except CorruptData:
        pass  # synced before it was renamed, so this is rot and not a crash: for recovery to judge
    segment.forget()
    return end
