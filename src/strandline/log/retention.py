"""Retention: whole segments go, oldest first, by time, size or log start offset (SPEC C1-C5).

Every policy says of each segment whether it would let it go, and why. One that says so is enough, but no policy can
undo these rules:

    a segment with an offset at or above the high watermark stays: a follower may still need it, and the log start
    must not pass the high watermark (KAFKA-5634);
    behind a segment that stays all others stay, so that a log has no hole;
    an empty active segment stays; one with records is rolled before it goes.

Kafka runs its policies one after another (log start, size, time). The outcome is the same: which segments go by log
start or by size does not depend on what the others take, and both take a prefix of the log.

A client whose clock runs ahead can keep a segment, and all behind it, for as long as it likes. Kafka lets it, and so
do we; the plan says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from strandline.log.log import Log
from strandline.log.moments import moment
from strandline.log.segment import Segment
from strandline.log.segment_view import LogView, SegmentView, views_of
from strandline.model.lazy_dataclass import dataclass


class Verdict(NamedTuple):
    goes: bool
    reason: str = ""  # a sentence without its full stop; may be empty where a policy has no say


class RetentionPolicy(Protocol):
    def __call__(self, log: LogView, /) -> Iterator[Verdict]:
        """One verdict for each segment, oldest first, worked out when it is asked for."""
        ...


def by_log_start(log: LogView) -> Iterator[Verdict]:
    """What DeleteRecords hid, also of a topic that is only compacted (SPEC C4)."""
    for segment in log.segments:
        goes = not segment.is_active and segment.end_offset <= log.log_start_offset
        yield Verdict(goes, f"it lies below the log start offset {log.log_start_offset}" if goes else "")


def by_size(log: LogView) -> Iterator[Verdict]:
    """As long as the log stays at or above `retention.bytes` (SPEC C3)."""
    limit = log.settings.retention_bytes
    rest_bytes = log.size_bytes
    for segment in log.segments:
        rest_bytes -= segment.size_bytes
        if not log.settings.deletes:
            yield _kept_by_policy(log)
        elif limit < 0:
            yield Verdict(False)
        elif rest_bytes >= limit:
            yield Verdict(True, f"{rest_bytes} bytes come after it, which is all that retention.bytes={limit} keeps")
        else:
            yield Verdict(False, f"{rest_bytes} bytes come after it, and retention.bytes={limit} keeps more")


def by_time(log: LogView) -> Iterator[Verdict]:
    """When the newest record is older than `retention.ms` (SPEC C2)."""
    retention_ms = log.settings.retention_ms
    for segment in log.segments:
        if not log.settings.deletes:
            yield _kept_by_policy(log)
        elif retention_ms < 0:
            yield Verdict(False)
        else:
            yield _by_age(segment, retention_ms, log.now_ms)


def _by_age(segment: SegmentView, retention_ms: int, now_ms: int) -> Verdict:
    newest_ms = segment.largest_timestamp_or_modified_ms
    what = "its newest timestamp is" if segment.largest_timestamp >= 0 else "no record has a timestamp, its file is of"
    if now_ms - newest_ms > retention_ms:
        return Verdict(True, f"{what} {moment(newest_ms)}, older than retention.ms={retention_ms}")
    future = ", which lies in the future" if newest_ms > now_ms else ""
    expiry = moment(newest_ms + retention_ms + 1)
    return Verdict(
        False, f"{what} {moment(newest_ms)}{future}: with retention.ms={retention_ms} it stays until {expiry}"
    )


def _kept_by_policy(log: LogView) -> Verdict:
    return Verdict(False, f"cleanup.policy={','.join(log.settings.cleanup_policy)} does not delete")


DEFAULT_POLICIES: tuple[RetentionPolicy, ...] = (by_log_start, by_size, by_time)


class SegmentVerdict(NamedTuple):
    segment: SegmentView
    goes: bool
    reason: str


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    verdicts: tuple[SegmentVerdict, ...]  # oldest first; those that go come first

    @property
    def going(self) -> list[SegmentView]:
        return [verdict.segment for verdict in self.verdicts if verdict.goes]

    @property
    def bytes_going(self) -> int:
        return sum(segment.size_bytes for segment in self.going)


def plan_for(log: LogView, policies: Sequence[RetentionPolicy] = DEFAULT_POLICIES) -> RetentionPlan:
    """A verdict for every segment: what a dry run shows."""
    return RetentionPlan(tuple(_verdicts(log, policies)))


def plan_retention(
    log: Log, *, now_ms: int, high_watermark: int, policies: Sequence[RetentionPolicy] = DEFAULT_POLICIES
) -> RetentionPlan:
    """Verdicts up to the first segment that stays: a run each five minutes must not open every time index there is."""
    log.check_usable()
    view = LogView.of(log, now_ms=now_ms, high_watermark=high_watermark)
    try:
        return RetentionPlan(tuple(_up_to_first_that_stays(_verdicts(view, policies))))
    except OSError as error:
        raise log.failed(error) from error


def apply_retention(log: Log, plan: RetentionPlan, now_ms: int) -> int:
    """Take out of the log what the plan lets go; returns how many segments. Their files follow later (SPEC C5)."""
    gone = _still_as_planned(log, plan)
    if gone:
        log.remove_segments(gone, now_ms=now_ms)
    return len(gone)


def _up_to_first_that_stays(verdicts: Iterable[SegmentVerdict]) -> Iterator[SegmentVerdict]:
    for verdict in verdicts:
        yield verdict
        if not verdict.goes:
            return


def _verdicts(log: LogView, policies: Sequence[RetentionPolicy]) -> Iterator[SegmentVerdict]:
    an_older_one_stays = False
    for segment, *verdicts in zip(log.segments, *(policy(log) for policy in policies), strict=False):
        goes, reason = _joined(log, segment, verdicts)
        if goes and an_older_one_stays:
            goes, reason = False, f"{reason}, but an older segment stays"
        an_older_one_stays = an_older_one_stays or not goes
        yield SegmentVerdict(segment, goes, reason)


def _joined(log: LogView, segment: SegmentView, verdicts: Sequence[Verdict]) -> Verdict:
    if segment.is_active and segment.size_bytes == 0:
        return Verdict(False, "the active segment is empty")
    for verdict in verdicts:
        if verdict.goes and segment.end_offset > log.high_watermark:
            return Verdict(
                False,
                f"{verdict.reason}, but it ends at offset {segment.end_offset},"
                f" above the high watermark {log.high_watermark}",
            )
        if verdict.goes:
            return verdict
    reasons = dict.fromkeys(verdict.reason for verdict in verdicts if verdict.reason)
    return Verdict(False, "; ".join(reasons) or "no limit is set")


def _still_as_planned(log: Log, plan: RetentionPlan) -> list[Segment]:
    """The log may have moved on since: what was appended to, replaced or truncated was not what the plan judged."""
    gone = []
    for planned, current, segment in zip(plan.going, views_of(log), log.segments.all(), strict=False):
        if _extent(planned) != _extent(current):
            break
        gone.append(segment)
    return gone


def _extent(segment: SegmentView) -> tuple[int, int, int]:
    return segment.base_offset, segment.end_offset, segment.size_bytes
