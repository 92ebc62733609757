"""Who surely owns which partitions of a consumer group (KIP-848), by what its coordinator has acknowledged.

A member owns what it was assigned until it sends a heartbeat that no longer names it, or leaves. It may be put out
before it knows of that: when its session ends, or when it has not given up in time what it has to. So it is surely a
member for its session after it has sent a heartbeat that was answered, and for its rebalance timeout after it has sent
one whose answer took nothing from it. Only answers count of a broker that led the group's partition all the while: one
that was replaced and does not know it answers from what it has, in Kafka too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Standing:
    """Of one member, as the coordinator has confirmed it."""

    owned: set[int] = field(default_factory=set)
    lives_until_us: int = 0  # by its session
    obeys_until_us: int = 0  # by its rebalance timeout

    def is_sure(self, now_us: int) -> bool:
        return now_us < min(self.lives_until_us, self.obeys_until_us)


@dataclass(frozen=True, slots=True)
class Claim:
    member_id: str
    heard_us: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    member_id: str
    sent_us: int
    owned: frozenset[int]  # that it named


class Ownership:
    def __init__(self, session_timeout_us: int, rebalance_timeout_us: int) -> None:
        self._session_timeout_us = session_timeout_us
        self._rebalance_timeout_us = rebalance_timeout_us
        self._standings: dict[str, Standing] = {}  # by member id
        self._claims: dict[int, Claim] = {}  # by partition: the last that was sure

    def lets_go_but(self, member_id: str, named: Iterable[int]) -> None:
        if member_id in self._standings:
            self._standings[member_id].owned.intersection_update(named)

    def leaves(self, member_id: str) -> None:
        self._standings.pop(member_id, None)

    def assigned(
        self, heartbeat: Heartbeat, assigned: frozenset[int], now_us: int, *, is_by_leader: bool
    ) -> Iterator[str]:
        """What is wrong with it."""
        standing = self._standings.setdefault(heartbeat.member_id, Standing())
        for partition in assigned - standing.owned:
            self._claims.pop(partition, None)  # whoever had it has it no more; whether this one has it is seen below
        standing.owned |= assigned
        if not is_by_leader:
            return
        standing.lives_until_us = heartbeat.sent_us + self._session_timeout_us
        if heartbeat.owned <= assigned:
            standing.obeys_until_us = heartbeat.sent_us + self._rebalance_timeout_us
            if standing.is_sure(now_us):
                yield from self._claim(heartbeat.member_id, assigned, now_us)

    def _claim(self, member_id: str, assigned: frozenset[int], now_us: int) -> Iterator[str]:
        for partition in sorted(assigned):
            claim = self._claims.get(partition)
            if claim is None or claim.member_id != member_id:
                self._claims[partition] = Claim(member_id, now_us)
            for other_id, other in self._standings.items():
                if other_id != member_id and partition in other.owned and other.is_sure(now_us):
                    yield f"{member_id} was given partition {partition}, which {other_id} has not let go"

    def successor(self, member_id: str, partition: int, sent_us: int) -> str | None:
        """Who had the partition after this member, before that was sent."""
        claim = self._claims.get(partition)
        return claim.member_id if claim and claim.member_id != member_id and claim.heard_us < sent_us else None
