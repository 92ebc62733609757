"""Putting finished segments in place of old ones, so that a crash leaves the old or the new (SPEC C6, L7).

    1  `.cleaned` becomes `.swap`, the highest segment first, each synced before the next: a `.cleaned` file tells
       recovery that no `.swap` at or above it may be used, so they count from the moment the lowest is renamed
    2  the old segments become `.deleted`, in any order: recovery removes what lies below a `.swap`
    3  `.swap` becomes the final name, the lowest segment first, each synced before the next: recovery clears the way
       from the lowest `.log.swap` on, and must not take for old what is already in place

Each step is synced before the next begins, so that only names of one step can be in doubt. Old and new segments may
have the same base offset, hence the same names, which is why 3 must wait for 2.
"""

from __future__ import annotations

from collections.abc import Sequence

from strandline.log import names
from strandline.log.log import Log
from strandline.log.segment import Segment
from strandline.model.failures import check


def replace_segments(log: Log, old: Sequence[Segment], new: Sequence[Segment], *, now_ms: int) -> None:
    """`new` are closed `.cleaned` segments whose files are synced. `OSError` leaves the log in doubt: it must fail."""
    check(bool(old) and bool(new), "there is something to replace")
    check(new[0].base_offset == old[0].base_offset, "new segments begin where the old ones did")
    for segment in reversed(new):
        segment.change_suffix(names.SWAP)
        log.filesystem.sync_directory(log.directory)
    log.segments.replace(old, new)
    for segment in old:
        log.deletions.schedule(segment, now_ms, log.settings.file_delete_delay_ms)
    log.filesystem.sync_directory(log.directory)
    for segment in new:
        segment.change_suffix("")
    log.filesystem.sync_directory(log.directory)
    _remove_snapshots(log, old, new)


def _remove_snapshots(log: Log, old: Sequence[Segment], new: Sequence[Segment]) -> None:
    """A snapshot goes with the base offset it stood for. One that comes back after a crash is removed as a stray."""
    kept = {segment.base_offset for segment in new}
    for segment in old:
        if segment.base_offset not in kept:
            log.snapshots.remove(segment.base_offset)
