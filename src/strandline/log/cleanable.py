"""Which part of a log may be compacted now, and which log needs it most (SPEC C6).

    log start      first dirty            first uncleanable                    log end
        |   clean       |      cleanable          |     not yet, or never        |

The first dirty offset is where the last compaction ended, from the cleaner's checkpoint. What comes from the first
uncleanable offset on stays as it is: the active segment, offsets at or above the high watermark or the last stable
offset (an uncommitted record must not push out a committed one: KAFKA-13194), and segments that hold a record younger
than `min.compaction.lag.ms`. Both bounds lie between segments, the first one unless the log start does not.

A log is worth the work when cleanable bytes make more than `min.cleanable.dirty.ratio` of what would be read, or when
a dirty segment began longer ago than `max.compaction.lag.ms` (KIP-354).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeVar

from strandline.log.moments import moment
from strandline.log.segment_view import LogView, SegmentView
from strandline.model.lazy_dataclass import dataclass

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleanability:
    first_dirty_offset: int
    first_uncleanable_offset: int  # >= first_dirty_offset
    clean_bytes: int
    cleanable_bytes: int
    needs_compaction_now: bool
    is_cleanable: bool
    reason: str  # a sentence without its full stop
    checkpoint_was_wrong: bool  # the cleaner's checkpoint should be set to the first dirty offset

    @property
    def dirty_ratio(self) -> float:
        total_bytes = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total_bytes if total_bytes else 0.0


def cleanability_of(log: LogView, checkpoint_offset: int | None) -> Cleanability:
    """`checkpoint_offset` is the cleaner's; None where it has never been here."""
    first_dirty_offset = _first_dirty_offset(log, checkpoint_offset)
    dirty = [segment for segment in log.segments if segment.end_offset > first_dirty_offset or segment.is_active]
    cleanable, blocker = _until_first_uncleanable(log, dirty)
    clean_bytes = sum(segment.size_bytes for segment in log.segments if segment.end_offset <= first_dirty_offset)
    cleanable_bytes = sum(segment.size_bytes for segment in cleanable)
    needs_now = cleanable_bytes > 0 and _is_overdue(log, dirty)
    ratio = cleanable_bytes / (clean_bytes + cleanable_bytes) if cleanable_bytes else 0.0
    is_cleanable, reason = _judge(log, cleanable_bytes, ratio, needs_now, blocker)
    return Cleanability(
        first_dirty_offset=first_dirty_offset,
        first_uncleanable_offset=max([first_dirty_offset, *(segment.end_offset for segment in cleanable)]),
        clean_bytes=clean_bytes,
        cleanable_bytes=cleanable_bytes,
        needs_compaction_now=needs_now,
        is_cleanable=is_cleanable,
        reason=reason,
        checkpoint_was_wrong=checkpoint_offset is not None and checkpoint_offset != first_dirty_offset,
    )


def filthiest(candidates: Iterable[tuple[Name, Cleanability]]) -> Name | None:
    """The log to compact next: overdue ones first, then the dirtiest; the first of equals; None if none is worth it."""
    worth_it = [(name, found) for name, found in candidates if found.is_cleanable]
    if not worth_it:
        return None
    return max(worth_it, key=lambda each: (each[1].needs_compaction_now, each[1].dirty_ratio))[0]


def why_uncleanable(log: LogView, segment: SegmentView) -> str | None:
    """What bars this very segment from compaction now; None if nothing does."""
    if segment.is_active:
        return "it is the active segment"
    if segment.end_offset > log.high_watermark:
        return f"it ends at offset {segment.end_offset}, above the high watermark {log.high_watermark}"
    if segment.end_offset > log.last_stable_offset:
        return (
            f"it ends at offset {segment.end_offset}, above the last stable offset {log.last_stable_offset}:"
            " a transaction is open"
        )
    lag_ms = log.settings.min_compaction_lag_ms
    if lag_ms > 0:
        newest_ms = segment.largest_timestamp_or_modified_ms
        if newest_ms > log.now_ms - lag_ms:
            future = " (its newest timestamp lies in the future)" if newest_ms > log.now_ms else ""
            return f"min.compaction.lag.ms={lag_ms} protects it until {moment(newest_ms + lag_ms)}{future}"
    return None


def _first_dirty_offset(log: LogView, checkpoint_offset: int | None) -> int:
    """A checkpoint below the log start, or beyond the end of a log that lost its tail, is worth nothing."""
    if checkpoint_offset is None or not log.log_start_offset <= checkpoint_offset <= log.log_end_offset:
        return log.log_start_offset
    return checkpoint_offset


def _until_first_uncleanable(log: LogView, dirty: list[SegmentView]) -> tuple[list[SegmentView], str]:
    """The cleanable segments, and what bars the next. A log always ends in an active segment, which is barred.

    With the first dirty offset in the active segment nothing is cleanable: where the bounds crossed, the cleaner went
    round in circles (KAFKA-8764, 9826).
    """
    cleanable: list[SegmentView] = []
    for segment in dirty:
        reason = why_uncleanable(log, segment)
        if reason is not None:
            return cleanable, f"{segment} cannot be compacted: {reason}"
        cleanable.append(segment)
    return cleanable, "the log is empty"


def _is_overdue(log: LogView, dirty: list[SegmentView]) -> bool:
    overdue_ms = log.now_ms - log.settings.max_compaction_lag_ms
    if overdue_ms <= 0:
        return False  # no limit: read nothing
    return any(0 < segment.timestamps.first_timestamp < overdue_ms for segment in dirty if not segment.is_active)


def _judge(log: LogView, cleanable_bytes: int, ratio: float, needs_now: bool, blocker: str) -> tuple[bool, str]:
    settings = log.settings
    if not settings.compacts:
        return False, f"cleanup.policy={','.join(settings.cleanup_policy)} does not compact"
    if cleanable_bytes == 0:
        return False, f"nothing is cleanable: {blocker}"
    if needs_now:
        return True, f"a dirty segment is older than max.compaction.lag.ms={settings.max_compaction_lag_ms}"
    if ratio > settings.min_cleanable_dirty_ratio:  # above, not at: with 0 a clean log is still left alone
        return True, f"dirty ratio {ratio:.2f} is above {settings.min_cleanable_dirty_ratio:.2f}"
    return False, f"dirty ratio {ratio:.2f} is not above {settings.min_cleanable_dirty_ratio:.2f}"
