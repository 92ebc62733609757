"""What a replica wants done. The broker carries out an effect before it says anything else to the same replica.

Each prints as one line, which is also what the broker logs. Where something must come after the effect it is nested
in it: a follower adopts its leader's high watermark only once the records that came with it are in its log.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from strandline.model.failures import ErrorCode

NO_BROKER_EPOCH = -1


def ids(replicas: Iterable[int]) -> str:
    return ",".join(map(str, replicas)) or "none"


class AlterIsr(NamedTuple):
    """Write this ISR into the store if the partition is still at this leader epoch and partition epoch.

    Each member comes with the broker epoch it last fetched with (KIP-903): one that has been restarted since, and may
    have lost what it had, must not get in.
    """

    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    broker_epochs: tuple[int, ...]  # of the members, in their order; NO_BROKER_EPOCH where none was told
    previous_isr: tuple[int, ...]
    cause: str

    def __str__(self) -> str:
        return f"alter isr {ids(self.previous_isr)} -> {ids(self.isr)} at version {self.partition_epoch}: {self.cause}"


class ReadPartitionState(NamedTuple):
    """Read the partition's state in the store and tell the leader (`PartitionStateRead`), however often that has to be
    tried, and with a pause in between."""

    leader_epoch: int

    def __str__(self) -> str:
        return "read the partition's state"


class IsrChanged(NamedTuple):
    """Done already: for the journal, for metrics, and to look at parked produce requests again."""

    previous_isr: tuple[int, ...]
    isr: tuple[int, ...]
    partition_epoch: int
    cause: str  # what the leader proposed it for, or that the controller wants it so

    def __str__(self) -> str:
        return f"isr {ids(self.previous_isr)} -> {ids(self.isr)} (version {self.partition_epoch})"


class Fenced(NamedTuple):
    """There is a newer epoch than ours. Nothing to do but wait for the controller to say which."""

    leader_epoch: int

    def __str__(self) -> str:
        return f"fenced: epoch {self.leader_epoch} is over, waiting for the controller"


LeaderEffect = AlterIsr | ReadPartitionState | IsrChanged | Fenced


class AssignEpoch(NamedTuple):
    """Record in the log that this epoch begins here, before a record of it is there (KAFKA-7415).

    Then look at parked fetches again: they were for another epoch.
    """

    epoch: int
    start_offset: int

    def __str__(self) -> str:
        return f"epoch {self.epoch} begins at {self.start_offset}"


class LeadershipLost(NamedTuple):
    """Answer everything that is parked here: it is for somebody else now."""

    leader_epoch: int

    def __str__(self) -> str:
        return f"no longer leader of epoch {self.leader_epoch}"


class FollowLeader(NamedTuple):
    """Fetch from this broker and from no other; from none if there is no leader."""

    leader: int
    leader_epoch: int

    def __str__(self) -> str:
        return f"follow {'nobody' if self.leader < 0 else self.leader} in epoch {self.leader_epoch}"


class Ignored(NamedTuple):
    reason: str

    def __str__(self) -> str:
        return f"ignored: {self.reason}"


class Adopt(NamedTuple):
    """What the leader said beside its records."""

    leader_high_watermark: int
    leader_log_start_offset: int


class AppendFetched(NamedTuple):
    """Append the records that came, none perhaps, then give `then` to `Follower.appended`."""

    then: Adopt

    def __str__(self) -> str:
        return f"append, then adopt the high watermark {self.then.leader_high_watermark}"


class TruncateTo(NamedTuple):
    """Cut the log and its epochs here, also if it ends here: an epoch without records may begin at the end.

    Then call `Follower.truncated`.
    """

    offset: int
    cause: str

    def __str__(self) -> str:
        return f"truncate to {self.offset}: {self.cause}"


class TruncateFullyAndStartAt(NamedTuple):
    """Empty the log; the next record gets this offset. Then call `Follower.truncated`."""

    offset: int
    cause: str

    def __str__(self) -> str:
        return f"truncate fully and start at {self.offset}: {self.cause}"


class AdvanceLogStart(NamedTuple):
    offset: int

    def __str__(self) -> str:
        return f"log start -> {self.offset}"


class HighWatermarkMoved(NamedTuple):
    """Done already: for the checkpoint and for readers of this replica."""

    previous: int
    offset: int

    def __str__(self) -> str:
        return f"high watermark {self.previous} -> {self.offset}"


class TryAgain(NamedTuple):
    """Nothing to do: the follower waits until then by itself."""

    at_ms: int
    error_code: ErrorCode

    def __str__(self) -> str:
        return f"{self.error_code.name}, try again at {self.at_ms}"


FollowerEffect = (
    AppendFetched
    | TruncateTo
    | TruncateFullyAndStartAt
    | AdvanceLogStart
    | HighWatermarkMoved
    | TryAgain
    | Fenced
    | Ignored
)
ReplicaEffect = LeaderEffect | FollowerEffect | AssignEpoch | LeadershipLost | FollowLeader
