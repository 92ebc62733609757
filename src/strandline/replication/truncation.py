"""Where a follower cuts its log so that it becomes a beginning of its leader's.

Two logs agree on everything up to the last offset at which both have a record of the same epoch: an epoch has one
leader, which writes each of its offsets once. So it is enough to compare where epochs end.

The follower asks where its own latest epoch ended in the leader's log (KIP-101). The leader answers with the largest
epoch it knows that is not above the one asked for (KIP-279):

    the same epoch      both have it. What the follower has beyond the leader's end of it was never replicated.
    an older epoch      the leader never saw the one asked for. If the follower knows the answered epoch, the smaller
                        of both ends is the place. If not, it drops everything above the epochs that both could share
                        and asks again, with an older epoch each time.

A follower that fetches says with which epoch its log ends, and the leader answers a fetch that does not fit with that
same pair instead of records (KIP-320). The high watermark is never asked: it can be behind what was acknowledged
(then cutting there loses records) or ahead of what survived (then it cuts too little). Only records older than leader
epochs, which have none, are cut there.

Both halves are here, and both are functions of tables and numbers.
"""

from __future__ import annotations

from typing import NamedTuple

from strandline.model.failures import ErrorCode, Refused
from strandline.replication.log_view import NO_EPOCH, EpochEnd, LogView


class Cut(NamedTuple):
    offset: int  # <= the log end offset
    is_final: bool  # whether the logs agree after it; if not, ask again


def diverging_epoch(log: LogView, *, last_fetched_epoch: int, fetch_offset: int) -> EpochEnd | None:
    """As leader: where the logs part, if the follower's, which ends at `fetch_offset`, is not a beginning of ours."""
    if last_fetched_epoch == NO_EPOCH:
        return None
    log_start_offset, log_end_offset = log.log_start_offset, log.log_end_offset
    if last_fetched_epoch == log.epochs.latest_epoch and log_start_offset <= fetch_offset <= log_end_offset:
        return None  # as nearly always
    end = EpochEnd(*log.epochs.end_offset_for(last_fetched_epoch, log_end_offset))
    if end.is_undefined:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"it is not known where epoch {last_fetched_epoch} ended")
    # Below the log start there is nothing left to agree on, whatever the epochs say.
    if fetch_offset < log_start_offset:
        raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {fetch_offset} is below the log start {log_start_offset}")
    return end if end.epoch < last_fetched_epoch or end.end_offset < fetch_offset else None


def cut_for(log: LogView, leader_end: EpochEnd, *, high_watermark: int) -> Cut:
    """As follower: what the leader's answer means for our log."""
    log_end_offset = log.log_end_offset
    if leader_end.is_undefined:  # the leader's records are older than epochs
        return Cut(min(high_watermark, log_end_offset), True)
    own = EpochEnd(*log.epochs.end_offset_for(leader_end.epoch, log_end_offset))
    if own.is_undefined:
        return Cut(min(leader_end.end_offset, log_end_offset), True)
    if own.epoch != leader_end.epoch:
        return Cut(min(own.end_offset, log_end_offset), False)
    return Cut(min(own.end_offset, leader_end.end_offset, log_end_offset), True)
