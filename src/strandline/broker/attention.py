"""Which partitions of a follower's fetch session want a look (KIP-227, SPEC R2).

A follower asks for all partitions of its session with every fetch, and nearly all of them have nothing to say. To look
at each would make a record in one cost what all of them cost. So the session watches them for as long as it lives:

    wanted   named by the request, or its log or high watermark moved, or it has not all that there is, or an error
    quiet    the follower has everything and knows everything, and is in sync

A partition that moves is wanted again; where its log has grown, the fetch that waits hears of it. What nobody tells of
(a log start that moved, the moment at which a quiet follower was last caught up) waits for the look at all of them that
a session takes now and then: each second, or more often where `replica.lag.time.max.ms` is short.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from strandline.broker.host import Host, Timer
from strandline.broker.partition import Partition

LOOK_AT_ALL_MS = 1_000
LOOKS_IN_LAG_TIME = 4
NEVER_MS = -(2**63)


class Followed(Protocol):
    """A partition of the session."""

    watch: Watch | None


class Waiting(Protocol):
    """A fetch that waits for its partitions."""

    def wake(self) -> None: ...
    def time_passed(self) -> None: ...


class Watch:
    """On one partition, for one session."""

    __slots__ = ("_attention", "_followed", "partition")

    def __init__(self, attention: Attention, followed: Followed, partition: Partition) -> None:
        self._attention = attention
        self._followed = followed
        self.partition = partition
        partition.watch(self)
        partition.watch_end(self)

    def partition_moved(self, _: Partition) -> None:
        """There is news, but none that would be worth an answer."""
        self._attention.wanted[self._followed] = None

    def end_moved(self, _: Partition) -> None:
        attention = self._attention
        attention.wanted[self._followed] = None
        if attention.waiting is not None:
            attention.waiting.wake()

    def end(self) -> None:
        self.partition.unwatch(self)


class Attention:
    __slots__ = (
        "_look_at_all_every_ms", "_looked_at_all_ms", "_replica_epoch", "_rings_ms", "_timer", "waiting", "wanted",
    )  # fmt: skip

    def __init__(self) -> None:
        self.wanted: dict[Followed, None] = {}  # in the order in which they are served
        self.waiting: Waiting | None = None
        self._looked_at_all_ms = NEVER_MS
        self._look_at_all_every_ms = LOOK_AT_ALL_MS
        self._replica_epoch = -1
        self._timer: Timer | None = None
        self._rings_ms = NEVER_MS

    def is_due(self, replica_epoch: int, elapsed_ms: int) -> bool:
        """Whether to look at all: it is time, or the follower lives another life (KIP-903)."""
        return elapsed_ms - self._looked_at_all_ms >= self._look_at_all_every_ms or replica_epoch != self._replica_epoch

    def want_all(self, followed: Iterable[Followed], replica_epoch: int, elapsed_ms: int) -> None:
        self._looked_at_all_ms, self._replica_epoch = elapsed_ms, replica_epoch
        for each in followed:
            self.wanted[each] = None

    def looks_at(self, followed: Followed, partition: Partition) -> None:
        """Watch it, if not so yet."""
        watch = followed.watch
        if watch is None or watch.partition is not partition:
            if watch is not None:
                watch.end()
            followed.watch = Watch(self, followed, partition)
            lag_max_ms = partition.settings.replica_lag_time_max_ms
            self._look_at_all_every_ms = min(LOOK_AT_ALL_MS, lag_max_ms // LOOKS_IN_LAG_TIME)

    def wake_after(self, wait_ms: int, elapsed_ms: int, host: Host) -> None:
        """A fetch nearly always has its answer long before its time is up. One timer does for all of a session's: where
        one rings before, who waits then sets it again."""
        if self._timer is not None:
            if elapsed_ms <= self._rings_ms <= elapsed_ms + wait_ms:
                return
            self._timer.cancel()
        self._rings_ms = elapsed_ms + wait_ms
        self._timer = host.call_later(wait_ms, self._time_passed)

    def _time_passed(self) -> None:
        self._timer = None
        if self.waiting is not None:
            self.waiting.time_passed()

    def want_last(self, followed: Followed) -> None:
        """It had its turn."""
        self.wanted.pop(followed, None)
        self.wanted[followed] = None

    def forget(self, followed: Followed) -> None:
        self.wanted.pop(followed, None)
        if followed.watch is not None:
            followed.watch.end()
            followed.watch = None

    def rest(self, followed: Iterable[Followed]) -> None:
        """Watch nothing more; whoever asks again has all looked at."""
        for each in followed:
            self.forget(each)
        self._looked_at_all_ms = NEVER_MS
        if self.waiting is None and self._timer is not None:
            self._timer.cancel()
            self._timer = None
