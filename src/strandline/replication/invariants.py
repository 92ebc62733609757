"""What must be true of a partition at every moment, in the words of the KafkaReplication specification.

Each is a function from what can be seen of all replicas to the sentences that say what is wrong: none, or there is a
bug. A simulation asks after every step. None of them holds through an unclean election or the loss of a disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from strandline.replication.effects import ids


class ObservedReplica(NamedTuple):
    broker_id: int
    presumes_leadership: bool
    leader_epoch: int
    high_watermark: int
    isr: tuple[int, ...]  # the maximal ISR, as this replica believes; of a follower, nothing
    log_start_offset: int
    records: Sequence[object]  # from the log start on, whatever tells one record from another

    @property
    def log_end_offset(self) -> int:
        return self.log_start_offset + len(self.records)

    def record_at(self, offset: int) -> object:
        return self.records[offset - self.log_start_offset]


def strong_isr(replicas: Iterable[ObservedReplica], quorum_isr: Iterable[int]) -> Iterator[str]:
    """Whatever a presumed leader has shown as committed is on every member of the ISR in the store, so that it
    survives any clean election."""
    by_id = {replica.broker_id: replica for replica in replicas}
    for leader in by_id.values():
        if leader.presumes_leadership:
            for member in quorum_isr:
                yield from _lacks(by_id[member], leader)


def weak_isr(replicas: Iterable[ObservedReplica]) -> Iterator[str]:
    """Whatever a presumed leader has shown as committed is on every replica that it believes to be in sync."""
    by_id = {replica.broker_id: replica for replica in replicas}
    for leader in by_id.values():
        if leader.presumes_leadership:
            for member in leader.isr:
                yield from _lacks(by_id[member], leader)


def leader_in_isr(leader: int, quorum_isr: Iterable[int]) -> Iterator[str]:
    """The leader in the store, if there is one, is in the ISR in the store."""
    members = tuple(quorum_isr)
    if leader >= 0 and leader not in members:
        yield f"leader {leader} is not in the isr {ids(members)}"


def high_watermark_within_log(replicas: Iterable[ObservedReplica]) -> Iterator[str]:
    for replica in replicas:
        if not replica.log_start_offset <= replica.high_watermark <= replica.log_end_offset:
            yield (
                f"high watermark {replica.high_watermark} of {replica.broker_id} is not within"
                f" {replica.log_start_offset} and {replica.log_end_offset}"
            )


def one_leader_in_an_epoch(replicas: Iterable[ObservedReplica]) -> Iterator[str]:
    leaders: dict[int, int] = {}
    for replica in replicas:
        if replica.presumes_leadership:
            other = leaders.setdefault(replica.leader_epoch, replica.broker_id)
            if other != replica.broker_id:
                yield f"{other} and {replica.broker_id} both lead in epoch {replica.leader_epoch}"


def _lacks(member: ObservedReplica, leader: ObservedReplica) -> Iterator[str]:
    for offset in range(max(leader.log_start_offset, member.log_start_offset), leader.high_watermark):
        if offset >= member.log_end_offset or member.record_at(offset) != leader.record_at(offset):
            yield (
                f"{member.broker_id} is in sync and lacks offset {offset}, which {leader.broker_id} committed"
                f" below {leader.high_watermark} in epoch {leader.leader_epoch}"
            )
            return
