"""The dry run of retention and compaction: per segment, what would happen to it now, and if nothing, why not yet.

Everything in a report is a plain value, so that a command can print it as a table or as JSON. Nothing on the disk is
changed, or opened for writing when the view is of a folder. Counting the records that would go is exact but reads the
log twice; without it only heads are read, for the delete horizons that compaction left in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from strandline.log.cleanable import Cleanability, cleanability_of, why_uncleanable
from strandline.log.compaction_estimate import RecordCount, count_records
from strandline.log.moments import moment
from strandline.log.retention import DEFAULT_POLICIES, RetentionPolicy, SegmentVerdict, plan_for
from strandline.log.segment_view import LogView, SegmentView
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentRow:
    base_offset: int
    end_offset: int
    size_bytes: int
    largest_timestamp: int
    is_active: bool
    is_deleted: bool  # by retention
    retention_reason: str
    is_compacted: bool  # read and written anew, less what goes
    compaction_reason: str
    delete_horizon_ms: int | None  # the earliest at which tombstones or markers in here may go
    records: int | None  # None where they were not counted
    records_going: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningReport:
    cleanup_policy: tuple[str, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int
    now_ms: int
    size_bytes: int
    segments_deleted: int
    bytes_deleted: int
    first_dirty_offset: int
    first_uncleanable_offset: int
    dirty_ratio: float
    is_cleanable: bool
    compaction_reason: str
    fault: str | None  # why the records could not be counted
    rows: tuple[SegmentRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Dictionaries, lists and primitive values only."""
        values = asdict(self)
        values["cleanup_policy"] = list(self.cleanup_policy)
        values["rows"] = [asdict(row) for row in self.rows]
        return values


def report_on(
    log: LogView,
    *,
    checkpoint_offset: int | None = None,
    counts_records: bool = False,
    policies: Sequence[RetentionPolicy] = DEFAULT_POLICIES,
) -> CleaningReport:
    """`checkpoint_offset` is the cleaner's for this log, None where it has never been there."""
    plan = plan_for(log, policies)
    cleanability = cleanability_of(log, checkpoint_offset)
    counts, fault = _counts(log, cleanability) if counts_records and log.settings.compacts else ({}, None)
    return CleaningReport(
        cleanup_policy=log.settings.cleanup_policy,
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        now_ms=log.now_ms,
        size_bytes=log.size_bytes,
        segments_deleted=len(plan.going),
        bytes_deleted=plan.bytes_going,
        first_dirty_offset=cleanability.first_dirty_offset,
        first_uncleanable_offset=cleanability.first_uncleanable_offset,
        dirty_ratio=cleanability.dirty_ratio,
        is_cleanable=cleanability.is_cleanable,
        compaction_reason=cleanability.reason,
        fault=fault,
        rows=tuple(
            _row(log, verdict, cleanability, counts.get(verdict.segment.base_offset)) for verdict in plan.verdicts
        ),
    )


def _counts(log: LogView, cleanability: Cleanability) -> tuple[dict[int, RecordCount], str | None]:
    try:
        return count_records(log, cleanability), None
    except CorruptData as error:
        return {}, str(error)


def _row(log: LogView, verdict: SegmentVerdict, cleanability: Cleanability, count: RecordCount | None) -> SegmentRow:
    segment = verdict.segment
    horizon_ms = _earliest_delete_horizon_ms(segment) if log.settings.compacts else None
    is_compacted, reason = _compaction_verdict(log, segment, cleanability, horizon_ms)
    return SegmentRow(
        base_offset=segment.base_offset,
        end_offset=segment.end_offset,
        size_bytes=segment.size_bytes,
        largest_timestamp=segment.largest_timestamp,
        is_active=segment.is_active,
        is_deleted=verdict.goes,
        retention_reason=verdict.reason,
        is_compacted=is_compacted,
        compaction_reason=reason,
        delete_horizon_ms=horizon_ms,
        records=None if count is None else count.records,
        records_going=None if count is None else count.going,
    )


def _earliest_delete_horizon_ms(segment: SegmentView) -> int | None:
    horizons = []
    try:
        for _, head in segment.heads():
            if head.delete_horizon_ms is not None:
                horizons.append(head.delete_horizon_ms)
    except CorruptData:
        pass  # what came before the bad bytes still counts
    return min(horizons, default=None)


def _compaction_verdict(
    log: LogView, segment: SegmentView, cleanability: Cleanability, horizon_ms: int | None
) -> tuple[bool, str]:
    if not log.settings.compacts:
        return False, cleanability.reason
    is_clean = segment.end_offset <= cleanability.first_dirty_offset and not segment.is_active
    if segment.is_active or segment.end_offset > cleanability.first_uncleanable_offset:
        return False, why_uncleanable(log, segment) or "an older segment cannot be compacted yet"
    state = "clean already" if is_clean else "dirty"
    if horizon_ms is not None:
        state += f", {_horizon_text(horizon_ms, log.now_ms)}"
    return cleanability.is_cleanable, f"{state}; {cleanability.reason}"


def _horizon_text(horizon_ms: int, now_ms: int) -> str:
    if horizon_ms > now_ms:
        return f"tombstones or markers wait until {moment(horizon_ms)}"
    return f"tombstones or markers may go since {moment(horizon_ms)}"
