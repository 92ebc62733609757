"""What an observer who sees everything knows of each partition: every replica's batches, and what was ever committed.

A batch is known by its place, its leader epoch and its CRC, which covers all that a producer sent. **Committed** is
what some leader's high watermark has passed: from then on it must be the same at every replica that may be elected,
for ever. The observer keeps its own list of that, and how far each replica agrees with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from strandline.broker.broker import Broker
from strandline.broker.partition import Partition
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.log.segment import Segment
from strandline.metadata.values import PartitionState
from strandline.model.partitions import TopicPartition
from strandline.records.batch import CONTROL, HEAD_BYTES, TRANSACTIONAL
from strandline.records.control import COMMIT
from strandline.replication.leader import Leader
from strandline.replication.log_view import UNKNOWN_OFFSET

HEAD = Struct(">qiibIhi8xqqhi")  # up to the sequence; the first timestamp is passed over
COUNT_POSITION = 57
MARKER_TYPE_POSITION = 69  # the low byte of it, in the key of the only record of a control batch
READ_BYTES = 1 << 20
PARSED_REMEMBERED = 1024  # reads: some hundred files of some ten kilobytes


class Kind(IntEnum):
    """What a batch is to transactions."""

    PLAIN = 0
    TRANSACTIONAL = 1
    ABORT_MARKER = 2
    COMMIT_MARKER = 3
    EMPTIED = 4  # transactional, by compaction


class Batch(NamedTuple):
    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    kind: Kind = Kind.PLAIN
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    max_timestamp: int = -1

    def __str__(self) -> str:
        return f"{self.base_offset}-{self.last_offset} of epoch {self.leader_epoch}, crc {self.crc:08x}"


@lru_cache(PARSED_REMEMBERED)
def batches_in(data: bytes) -> tuple[Batch, ...]:
    """Those that are whole. Replicas have the same bytes, and most files of a log are as they were when it is read
    again."""
    return tuple(_parsed(data))


def _parsed(data: bytes) -> Iterator[Batch]:
    position = 0
    while position + HEAD.size <= len(data):
        head = HEAD.unpack_from(data, position)
        base, length, epoch, _, crc, attributes, delta, max_timestamp, producer_id, producer_epoch, sequence = head
        begin, position = position, position + 12 + length
        if position > len(data):
            return
        kind = Kind.PLAIN
        if attributes & TRANSACTIONAL:
            kind = kind_of(data, begin, is_control=bool(attributes & CONTROL))
        yield Batch(base, base + delta, epoch, crc, kind, producer_id, producer_epoch, sequence, max_timestamp)


def kind_of(data: bytes, begin: int, *, is_control: bool) -> Kind:
    """Of the transactional batch that begins there."""
    if not any(data[begin + COUNT_POSITION : begin + HEAD_BYTES]):
        return Kind.EMPTIED
    if not is_control:
        return Kind.TRANSACTIONAL
    return Kind.COMMIT_MARKER if data[begin + MARKER_TYPE_POSITION] == COMMIT else Kind.ABORT_MARKER


def batches_from(log: Log, offset: int) -> Iterator[Batch]:
    """Up to the end, or to where bytes are no batches: of what is missing then, or is in its place, others complain.
    Whole files are read, without an index: these are looked at elsewhere."""
    for segment in log.segments.from_offset(offset):
        for batch in batches_in(segment.file.read(0, segment.size_bytes)):
            if batch.last_offset >= offset:
                offset = batch.last_offset + 1
                yield batch


class Replica:
    """One broker's log of a partition, and its part in it."""

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.batches: dict[int, Batch] = {}  # by base offset, in order
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.forgotten = 0  # where it had to start over, with nothing of what was before
        self.agreed = 0  # how many of the committed batches, from the first on, this log has or has outlived
        self.is_up = False
        self.has_lost_power = False  # and what it had is not known to be there
        self.is_unread = False  # its log failed with what it last wrote, and is not read again before the next start
        self.leads_in: int | None = None  # the leader epoch
        self.leader_epoch = -1
        self.told_epoch = -1  # the last it was told of, in any life
        self.heard_from: tuple[int, ...] = ()  # whose progress a leader counts in its epoch
        self.high_watermark = 0
        self.last_stable_offset = 0
        # By its in-sync replicas, when it last led in this life. What it shows of it waits for its disk.
        self.counted_watermark = 0
        self.isr: tuple[int, ...] = ()  # the maximal one, of a leader
        self.is_under_min_isr = False  # whether it leads with fewer in sync than `min.insync.replicas`
        self.log: Log | None = None
        self.news: list[Batch] = []  # that no invariant has looked at
        self.before_news: Batch | None = None
        self._tail: tuple[Segment, int] | None = None  # up to where it was read
        self.seen: tuple[object, ...] = ()
        self.is_changed = False  # since the invariants looked at it
        self.reshapes = 0  # of its directory, in this life

    @property
    def is_excused(self) -> bool:
        """Its machine lost power, and the controller has not given its replica anything to do yet. When it has, it
        knows that this is another life, and has taken it out of the ISR (KIP-903)."""
        return self.has_lost_power and not (self.is_up and self.leader_epoch >= 0)

    @property
    def has_counted_all(self) -> bool:
        """That it shows, as a leader."""
        return self.high_watermark <= self.counted_watermark

    @property
    def readable_log(self) -> Log | None:
        """What it has open, and has been read to its end."""
        log = self.log
        is_readable = log is not None and self.is_up and not (self.is_unread or log.is_closed or log.failure)
        return log if is_readable else None

    def read_all(self, log: Log) -> None:
        """As a whole, `batches` being others from now on: what somebody knew by the old ones is not known any more."""
        if log is self.log and self._is_as_it_was(log):
            return
        if log is not self.log:
            self.counted_watermark = 0
        self.log = log
        self.is_unread = False
        self.batches, self.news, self.before_news = {}, [], None
        self.agreed = 0
        if self._has_started_over(log):
            self.forgotten = log.log_start_offset
        self.log_end_offset = log.log_start_offset
        self._tail = None
        self.read_more(log)

    def _has_started_over(self, log: Log) -> bool:
        """At its own end, it is told by its leader epochs from a log of which all has expired."""
        beyond = log.log_start_offset - self.log_end_offset
        return beyond > 0 or (beyond == 0 and not log.epochs.entries())

    def _is_as_it_was(self, log: Log) -> bool:
        """Only files that were none of its any more have gone, say."""
        if (log.log_start_offset, log.log_end_offset) != (self.log_start_offset, self.log_end_offset):
            return False
        if self.is_unread or self._tail is None or self._tail != (log.segments.active, log.segments.active.size_bytes):
            return False
        return [*batches_from(log, log.log_start_offset)] == [*self.batches.values()]

    def read_more(self, log: Log) -> None:
        if log.log_end_offset > self.log_end_offset:
            for batch in self._more(log):
                self.batches[batch.base_offset] = batch
                self.news.append(batch)
            active = log.segments.active
            self._tail = (active, active.size_bytes)
        self.log_start_offset, self.log_end_offset = log.log_start_offset, log.log_end_offset

    def _more(self, log: Log) -> Iterable[Batch]:
        """What is new lies mostly at the end of the file that was read last."""
        active = log.segments.active
        if self._tail is None or self._tail[0] is not active:
            return batches_from(log, self.log_end_offset)
        position = self._tail[1]
        return batches_in(active.file.read(position, active.size_bytes - position))

    def was_looked_at(self) -> None:
        self.is_changed = False
        if self.news:
            self.before_news, self.news = self.news[-1], []


class PartitionTruth:
    def __init__(self, name: TopicPartition, topic_id: bytes) -> None:
        self.name = name
        self.topic_id = topic_id
        self.replicas: dict[int, Replica] = {}
        self.committed: list[Batch] = []
        self.forgotten: dict[int, int] = {}  # by leader epoch: what its leader had forgotten when it began to lead
        self.stored: PartitionState | None = None
        self.stored_version = -1
        self.assigned: tuple[int, ...] = ()
        self.is_compacted = False
        self.is_deleted = False  # its topic

    @property
    def committed_end(self) -> int:
        return self.committed[-1].last_offset + 1 if self.committed else 0

    def committed_at(self, base_offset: int) -> Batch | None:
        place = bisect_left(self.committed, base_offset, key=lambda batch: batch.base_offset)
        found = self.committed[place] if place < len(self.committed) else None
        return found if found is not None and found.base_offset == base_offset else None

    def replica(self, broker_id: int) -> Replica:
        if broker_id not in self.replicas:
            self.replicas[broker_id] = Replica(broker_id)
        return self.replicas[broker_id]

    def commit(self, leader: Replica) -> None:
        """What this leader shows is committed from now on. So is what it counted while it led, and shows when its disk
        has it, by which time others may have been told to lead."""
        if leader.leads_in is not None:
            self.forgotten.setdefault(leader.leads_in, leader.forgotten)
        end = self.committed_end
        if leader.high_watermark <= end or (leader.leads_in is None and not leader.has_counted_all):
            return
        for base in range_of_bases(leader, end):
            batch = leader.batches[base]
            if batch.last_offset < leader.high_watermark:
                self.committed.append(batch)

    def agree(self, replica: Replica) -> None:
        """How far its log goes along with what is committed."""
        committed, batches, start = self.committed, replica.batches, replica.log_start_offset
        if replica.agreed == 0 and start > 0:
            replica.agreed = bisect_left(committed, start, key=lambda batch: batch.last_offset)
        while replica.agreed < len(committed):
            batch = committed[replica.agreed]
            is_there = batches.get(batch.base_offset) == batch or batch.last_offset < start
            # What is left of a compacted log is looked at by its keys, elsewhere.
            if not is_there and not (self.is_compacted and batch.last_offset < replica.log_end_offset):
                return
            replica.agreed += 1

    def may_lack(self, replica: Replica) -> bool:
        """A compacted log does not show what it has lost: who lost power is doubted until it has orders."""
        return replica.leader_epoch < 0 if self.is_compacted else self.lacks(replica) is not None

    def lacks(self, replica: Replica) -> Batch | None:
        """The first that is committed and not there."""
        return self.committed[replica.agreed] if replica.agreed < len(self.committed) else None


def range_of_bases(replica: Replica, end: int) -> list[int]:
    found: list[int] = []
    for base in reversed(replica.batches):
        if base < end:
            break
        found.append(base)
    found.reverse()
    return found


def followers_heard(leader: Leader) -> tuple[int, ...]:
    return tuple(
        broker_id for broker_id, progress in leader.followers.items() if progress.log_end_offset != UNKNOWN_OFFSET
    )


def observe_role(replica: Replica, partition: Partition | None) -> None:
    leader = None if partition is None else partition.leader
    replica.leads_in = None if leader is None else leader.leader_epoch
    replica.isr = () if leader is None else leader.maximal_isr
    replica.is_under_min_isr = leader is not None and len(leader.isr) < leader.min_insync_replicas
    replica.leader_epoch = -1 if partition is None else partition.leader_epoch
    replica.told_epoch = max(replica.told_epoch, replica.leader_epoch)
    replica.heard_from = () if leader is None else followers_heard(leader)
    replica.high_watermark = 0 if partition is None else partition.high_watermark
    replica.last_stable_offset = 0 if partition is None else partition.last_stable_offset
    if leader is not None:
        replica.counted_watermark = leader.high_watermark


def logs_of(broker: Broker) -> Iterator[tuple[TopicPartition, bytes, Log]]:
    directories: LogDirectories | None = getattr(broker, "directories", None)
    if directories is None:
        return  # it is still being opened
    for directory in directories.directories:  # those that failed too
        for name, log in directory.logs.items():
            topic_id = directory.topic_ids.get(name)
            if topic_id is not None:
                yield name, topic_id.bytes, log
