"""A follower of one leader in one leader epoch: what to ask next, and what to do with the answer.

    RECONCILING   asks where its latest epoch ended in the leader's log, and cuts its own there (`truncation`), again
                  and again until both agree. It fetches nothing before: Kip320.tla's first rule.
    FETCHING      asks for what comes after its log. An answer may still say that the logs diverge; then it cuts first
                  and adopts nothing else of that answer, or records that nobody committed would show (KAFKA-14704).
    ASKING_END    the leader does not have the offset that comes next: does its log end before ours?
    ASKING_START  it does not: does it begin beyond our end?
    FENCED        the leader has a newer epoch than ours. Only the controller can help.
    LEADERLESS    nobody leads.

Where the leader's log begins at the end of ours, retention has left it nothing to compare ours with: of records that we
do not know to be committed it may have had others. Then all goes, with what it says of producers and transactions:
whoever led later would take a batch that was never committed for one that it has (Kafka keeps it). The price is that
it may take one again that was committed and has expired since, should its producer send it for that long.

The high watermark is the smaller of the leader's and our own log end (SPEC R2): the leader's is right about records
that we may not have yet.

A follower never speaks first: the broker asks it for its next request, sends that with those of other partitions, and
brings the answer, however late. An answer to anything but what it would ask now is dropped.

`uses_leader_epochs=False` is Kafka before KIP-101, for lessons and tests: it cuts at the high watermark, asks nobody,
and loses records.
"""

from __future__ import annotations

from enum import Enum

from strandline.model.failures import ErrorCode, check
from strandline.replication.effects import (
    Adopt,
    AdvanceLogStart,
    AppendFetched,
    Fenced,
    FollowerEffect,
    HighWatermarkMoved,
    Ignored,
    TruncateFullyAndStartAt,
    TruncateTo,
    TryAgain,
)
from strandline.replication.events import NO_LEADER
from strandline.replication.log_view import NO_EPOCH, EpochEnd, LogView, last_epoch_of
from strandline.replication.progress import NEVER_MS
from strandline.replication.requests import AskEpochEnd, AskOffset, Fetch, FetchAnswer, FollowerRequest
from strandline.replication.settings import ReplicationSettings
from strandline.replication.truncation import cut_for

Effects = tuple[FollowerEffect, ...]

# A new leader may hear of its leadership a moment after its followers. To wait for that as for a leader that is gone
# would cost every acks=all of the partition a second.
NOT_LEADER_YET = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
)
FIRST_RETRY_MS = 20  # doubles each time, up to `replica.fetch.backoff.ms`
MAX_DOUBLINGS = 16
LATE: Effects = (Ignored("an answer to what is no longer asked"),)


class FollowerState(Enum):
    RECONCILING = "reconciling"
    FETCHING = "fetching"
    ASKING_END = "asking for the leader's end"
    ASKING_START = "asking for the leader's start"
    FENCED = "fenced"
    LEADERLESS = "leaderless"


class Follower:
    __slots__ = (
        "_is_compared",
        "_refusals",
        "_settings",
        "_uses_leader_epochs",
        "high_watermark",
        "leader",
        "leader_epoch",
        "leader_high_watermark",
        "log",
        "state",
        "try_again_ms",
    )

    def __init__(
        self,
        *,
        leader: int,
        leader_epoch: int,
        log: LogView,
        high_watermark: int,
        settings: ReplicationSettings,
        uses_leader_epochs: bool = True,
    ) -> None:
        check(high_watermark <= log.log_end_offset, f"high watermark {high_watermark} beyond {log.log_end_offset}")
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.log = log
        self.high_watermark = high_watermark  # <= the log end offset
        self.leader_high_watermark: int | None = None  # as last heard
        self.try_again_ms = NEVER_MS
        self.state = FollowerState.LEADERLESS
        self._is_compared = False  # with the log of this leader, as it is now
        self._refusals = 0  # by a leader that is none yet
        self._settings = settings
        self._uses_leader_epochs = uses_leader_epochs

    def begin(self) -> Effects:
        """BecomeFollower."""
        if self.leader == NO_LEADER:
            return ()
        if self._uses_leader_epochs and last_epoch_of(self.log) != NO_EPOCH:
            self.state = FollowerState.RECONCILING
            return ()
        self.state = FollowerState.FETCHING
        if self.log.log_end_offset == self.log.log_start_offset:
            return ()
        return (self._truncation(self.high_watermark, "the high watermark, for want of epochs"),)

    @property
    def is_in_sync(self) -> bool:
        """Whether it has everything that its leader has committed; if so, no throttle may slow it (SPEC R11)."""
        return self.leader_high_watermark is not None and self.log.log_end_offset >= self.leader_high_watermark

    # Asking.

    def request(self, now_ms: int) -> FollowerRequest | None:
        """What to ask the leader; None where there is nothing to ask, or not before `try_again_ms`."""
        return self._next_request() if now_ms >= self.try_again_ms else None

    def _next_request(self) -> FollowerRequest | None:
        epoch = self.leader_epoch if self._uses_leader_epochs else NO_EPOCH
        match self.state:
            case FollowerState.FETCHING:
                last_epoch = last_epoch_of(self.log) if self._uses_leader_epochs else NO_EPOCH
                return Fetch(epoch, self.log.log_end_offset, last_epoch, self.log.log_start_offset)
            case FollowerState.RECONCILING:
                return AskEpochEnd(epoch, last_epoch_of(self.log))
            case FollowerState.ASKING_END:
                return AskOffset(epoch, earliest=False)
            case FollowerState.ASKING_START:
                return AskOffset(epoch, earliest=True)
            case FollowerState.FENCED | FollowerState.LEADERLESS:
                return None

    # Hearing.

    def fetch_answered(self, request: Fetch, answer: FetchAnswer, now_ms: int) -> Effects:
        """FollowerReplicate, or what stands in its way."""
        if not self.still_asks(request):
            return LATE
        if answer.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self.state = FollowerState.ASKING_END
            return ()
        if answer.error_code is not ErrorCode.NONE:
            return self._failed(answer.error_code, now_ms)
        if answer.diverging is not None:
            return self._cut(answer.diverging)
        if not self._is_compared:
            self._is_compared = True
            if answer.log_start_offset >= self.log.log_end_offset > self.high_watermark:
                return (TruncateFullyAndStartAt(answer.log_start_offset, "the leader has nothing to compare with"),)
        return (AppendFetched(Adopt(answer.high_watermark, answer.log_start_offset)),)

    def still_asks(self, request: Fetch) -> bool:
        """Whether an answer to it is wanted."""
        current = self._next_request()
        return isinstance(current, Fetch) and request.asks_the_same_as(current)

    def epoch_end_answered(self, request: AskEpochEnd, error_code: ErrorCode, end: EpochEnd, now_ms: int) -> Effects:
        """FollowerTruncate."""
        if request != self._next_request():
            return LATE
        if error_code is not ErrorCode.NONE:
            return self._failed(error_code, now_ms)
        if end.epoch == request.epoch and end.end_offset >= self.log.log_end_offset:
            self.state = FollowerState.FETCHING
            return ()
        return self._cut(end)

    def offset_answered(self, request: AskOffset, error_code: ErrorCode, offset: int, now_ms: int) -> Effects:
        if request != self._next_request():
            return LATE
        if error_code is not ErrorCode.NONE:
            return self._failed(error_code, now_ms)
        return self._leader_starts_at(offset, now_ms) if request.earliest else self._leader_ends_at(offset)

    def no_answer(self, now_ms: int) -> Effects:
        """The leader could not be reached, or what it sent could not be used."""
        return self._failed(ErrorCode.NETWORK_EXCEPTION, now_ms)

    # Doing.

    def appended(self, adopt: Adopt) -> Effects:
        """The records are in the log. Now, and not before, the leader's high watermark and log start are ours."""
        # Within an epoch the leader's only rises: a smaller one is an older answer.
        self.leader_high_watermark = max(adopt.leader_high_watermark, self.leader_high_watermark or 0)
        effects = self._set_high_watermark(self.leader_high_watermark)
        log_start_offset = min(adopt.leader_log_start_offset, self.high_watermark)
        if log_start_offset > self.log.log_start_offset:
            effects += (AdvanceLogStart(log_start_offset),)
        return effects

    def truncated(self) -> Effects:
        """The log has been cut, perhaps further than asked for: batches go whole. Nothing above its end is committed,
        and nothing below its start is uncommitted (KAFKA-9491)."""
        if self.state is FollowerState.RECONCILING and last_epoch_of(self.log) == NO_EPOCH:
            self.state = FollowerState.FETCHING
        return self._set_high_watermark(self.high_watermark)

    def _cut(self, leader_end: EpochEnd) -> Effects:
        cut = cut_for(self.log, leader_end, high_watermark=self.high_watermark)
        self.state = FollowerState.FETCHING if cut.is_final else FollowerState.RECONCILING
        self._is_compared = False
        return (self._truncation(cut.offset, f"the leader has {leader_end}{'' if cut.is_final else ', asking again'}"),)

    def _leader_ends_at(self, offset: int) -> Effects:
        if offset >= self.log.log_end_offset:
            self.state = FollowerState.ASKING_START
            return ()
        self.state = FollowerState.FETCHING
        return (self._truncation(offset, "the leader's log ends there"),)

    def _leader_starts_at(self, offset: int, now_ms: int) -> Effects:
        self.state = FollowerState.FETCHING
        if offset > self.log.log_end_offset:
            return (TruncateFullyAndStartAt(offset, "the leader has nothing older, and our log ends before"),)
        # What is next is there after all. Not at once again: if nothing has changed, this would go round and round.
        return self._failed(ErrorCode.OFFSET_OUT_OF_RANGE, now_ms)

    def _truncation(self, offset: int, cause: str) -> TruncateTo:
        offset = min(offset, self.log.log_end_offset)
        lost = f" (below the high watermark {self.high_watermark})" if offset < self.high_watermark else ""
        return TruncateTo(offset, cause + lost)

    def _failed(self, error_code: ErrorCode, now_ms: int) -> Effects:
        if error_code is ErrorCode.FENCED_LEADER_EPOCH:
            self.state = FollowerState.FENCED
            return (Fenced(self.leader_epoch),)
        delay_ms = self._settings.replica_fetch_backoff_ms
        if error_code in NOT_LEADER_YET:
            delay_ms = min(delay_ms, FIRST_RETRY_MS << min(self._refusals, MAX_DOUBLINGS))
            self._refusals += 1
        self.try_again_ms = now_ms + delay_ms
        return (TryAgain(self.try_again_ms, error_code),)

    def _set_high_watermark(self, offset: int) -> Effects:
        previous = self.high_watermark
        self.high_watermark = max(self.log.log_start_offset, min(offset, self.log.log_end_offset))
        return () if self.high_watermark == previous else (HighWatermarkMoved(previous, self.high_watermark),)

    def __str__(self) -> str:
        return (
            f"follower of {self.leader} in epoch {self.leader_epoch}, {self.state.value}:"
            f" log end {self.log.log_end_offset}, high watermark {self.high_watermark}"
        )
