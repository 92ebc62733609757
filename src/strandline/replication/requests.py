"""What a follower asks its leader, and what it hears. Each carries the leader epoch it is meant for (KIP-320), so
that a leader of another epoch refuses it and an answer that comes too late is told from one that fits.
"""

from __future__ import annotations

from typing import NamedTuple

from strandline.model.failures import ErrorCode
from strandline.replication.log_view import NO_EPOCH, UNKNOWN_OFFSET, EpochEnd


class Fetch(NamedTuple):
    leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int  # with which the follower's log ends; NO_EPOCH if that is not known
    log_start_offset: int

    def asks_the_same_as(self, other: Fetch) -> bool:
        """The log start is a message to the leader and no part of the question."""
        return self[:3] == other[:3]

    def __str__(self) -> str:
        last_epoch = "" if self.last_fetched_epoch == NO_EPOCH else f" after epoch {self.last_fetched_epoch}"
        return f"fetch from {self.fetch_offset}{last_epoch}{_to(self.leader_epoch)}"


class AskEpochEnd(NamedTuple):
    """OffsetsForLeaderEpoch."""

    leader_epoch: int
    epoch: int

    def __str__(self) -> str:
        return f"ask where epoch {self.epoch} ended{_to(self.leader_epoch)}"


class AskOffset(NamedTuple):
    """ListOffsets, as a replica: the end is the log end offset and not the high watermark."""

    leader_epoch: int
    earliest: bool

    def __str__(self) -> str:
        return f"ask where the log {'begins' if self.earliest else 'ends'}{_to(self.leader_epoch)}"


FollowerRequest = Fetch | AskEpochEnd | AskOffset


class FetchAnswer(NamedTuple):
    """Without the records, which are the broker's to append."""

    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    diverging: EpochEnd | None = None

    def __str__(self) -> str:
        if self.error_code is not ErrorCode.NONE:
            return self.error_code.name
        if self.diverging is not None:
            return f"diverging: {self.diverging}"
        return f"high watermark {self.high_watermark}, log start {self.log_start_offset}"


def _to(leader_epoch: int) -> str:
    return "" if leader_epoch == NO_EPOCH else f" (leader epoch {leader_epoch})"
