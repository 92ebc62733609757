"""The operations of a history. Tuples, because there are millions of them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias

from strandline.model.partitions import TopicPartition

BEGINNING = -2  # positions by Kafka's own numbers
END = -1


class Outcome(StrEnum):
    OK = "ok"
    FAIL = "fail"  # it did not happen, and never will
    UNKNOWN = "unknown"  # it may have happened, or may yet
    ASKED = "asked"  # noted before the call; another line says what came of it (`asked`)


class Isolation(StrEnum):
    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


class How(StrEnum):
    """How a consumer came to its partitions."""

    ASSIGN = "assign"  # it chose them itself
    SUBSCRIBE = "subscribe"  # it asked its group for some, and nobody noted which it got
    REBALANCE = "rebalance"  # its group gave them
    SEEK = "seek"


class Decision(StrEnum):
    COMMIT = "commit"
    ABORT = "abort"


class Client(NamedTuple):
    """What a process is, told when it starts. The defaults are for processes that told nothing."""

    number: int
    process: str
    acks: int = -1
    is_idempotent: bool = True
    isolation: Isolation = Isolation.READ_COMMITTED
    group: str | None = None
    commits_by_itself: bool = False  # enable.auto.commit: not every commit is in the history
    clock: str | None = None  # times are comparable with those of processes that name the same
    tells_of_producer: bool = True  # a line may tell of one of the two alone
    tells_of_consumer: bool = True


class Send(NamedTuple):
    number: int  # of its line, over all files
    process: str
    outcome: Outcome
    began_us: int
    ended_us: int
    topic: str
    partition: TopicPartition | None  # None if it failed before one was chosen
    value: str
    offset: int | None = None
    transaction: str | None = None


class Record(NamedTuple):
    partition: TopicPartition
    offset: int
    value: str


class Poll(NamedTuple):
    number: int
    process: str
    outcome: Outcome
    began_us: int
    ended_us: int
    records: tuple[Record, ...]
    transaction: str | None = None


class Assign(NamedTuple):
    """Partitions that a consumer reads from now on, and from where. Those not named stay as they were."""

    number: int
    process: str
    outcome: Outcome
    began_us: int
    ended_us: int
    how: How
    positions: tuple[tuple[TopicPartition, int | None], ...]  # None: wherever the group was, or a reset led


class Revoke(NamedTuple):
    number: int
    process: str
    outcome: Outcome
    began_us: int
    ended_us: int
    partitions: tuple[TopicPartition, ...] | None  # None: all


class Commit(NamedTuple):
    """Offsets of a group: the next to be read. In a transaction they count when it is committed."""

    number: int
    process: str
    outcome: Outcome
    began_us: int
    ended_us: int
    group: str
    offsets: tuple[tuple[TopicPartition, int], ...]
    transaction: str | None = None


class Begin(NamedTuple):
    number: int
    process: str
    outcome: Outcome
    began_us: int
    ended_us: int
    transaction: str  # unique in the history


class End(NamedTuple):
    number: int
    process: str
    outcome: Outcome
    began_us: int
    ended_us: int
    transaction: str
    decision: Decision


class Trim(NamedTuple):
    """Somebody deleted records below these offsets, and meant it."""

    number: int
    process: str
    outcome: Outcome
    began_us: int
    ended_us: int
    offsets: tuple[tuple[TopicPartition, int], ...]


TimedOperation: TypeAlias = Send | Poll | Assign | Revoke | Commit | Begin | End | Trim
Operation: TypeAlias = Client | TimedOperation
