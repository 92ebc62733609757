"""How far a follower has come, as its leader knows it: from the offset of its last fetch, and from nothing else.

Everything here belongs to one leader epoch. What a follower had fetched in another epoch says nothing, because it may
have cut its log in between (the third rule of Kip320.tla: the high watermark moves only when the in-sync followers
have acknowledged this leader *and its epoch*).
"""

from __future__ import annotations

from strandline.replication.effects import NO_BROKER_EPOCH
from strandline.replication.log_view import UNKNOWN_OFFSET

NEVER_MS = -(2**63)


class FollowerProgress:
    __slots__ = (
        "broker_epoch",
        "counts",
        "last_caught_up_ms",
        "last_fetch_leader_end_offset",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
        "replica_id",
    )

    def __init__(self, replica_id: int, *, in_sync: bool, now_ms: int) -> None:
        self.replica_id = replica_id
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.last_fetch_ms = NEVER_MS
        self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
        # The last time at which its log reached to where the leader's ended at that time. Fetching is not enough: a
        # follower that fetches all day and never gets to the end is lagging (SPEC R3).
        self.last_caught_up_ms = now_ms if in_sync else NEVER_MS
        self.broker_epoch = NO_BROKER_EPOCH  # as told with its last fetch
        self.counts = False  # whether it is in the maximal ISR, without which the high watermark does not move

    def fetched(
        self, fetch_offset: int, log_start_offset: int, leader_end_offset: int, broker_epoch: int, now_ms: int
    ) -> None:
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_fetch_leader_end_offset:
            # It has now what the leader had when it last asked. Where records come all the time, nobody gets closer.
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end_offset = fetch_offset
        self.log_start_offset = log_start_offset
        self.last_fetch_leader_end_offset = leader_end_offset
        self.last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def is_caught_up(self, leader_end_offset: int, now_ms: int, lag_max_ms: int) -> bool:
        return self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= lag_max_ms

    def lag_text(self, leader_end_offset: int, now_ms: int) -> str:
        since = "" if self.last_caught_up_ms == NEVER_MS else f", {now_ms - self.last_caught_up_ms} ms behind"
        if self.log_end_offset == UNKNOWN_OFFSET:
            return f"{self.replica_id} has not fetched in this epoch{since}"
        return f"{self.replica_id} ends at {self.log_end_offset} of {leader_end_offset}{since}"
