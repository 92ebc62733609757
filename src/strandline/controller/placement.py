"""Where the replicas of new partitions go: Kafka's algorithm (SPEC T1, T2).

Brokers stand in a ring. The first replicas, who will lead, go round it one by one from a start that the caller has
drawn by lot. The other replicas of a partition follow at a distance, which grows by one with every round, so that the
partitions of one broker are shared among all others and not always with the same neighbours.

    brokers 0 1 2 3 4, three replicas, start 0, shift 0:

        p0  0 1 2      p5  0 2 3
        p1  1 2 3      p6  1 3 4
        p2  2 3 4      …

With racks the ring alternates between them, and a partition takes a second replica from a rack only when every rack
has one. Racks count only when every broker has one: half-known racks would pile replicas on the brokers that name
theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from strandline.model.failures import ErrorCode, Refused

Placement = dict[int, tuple[int, ...]]  # partition -> brokers, the preferred leader first


class Place(NamedTuple):
    """A broker that may have replicas."""

    broker_id: int
    rack: str | None = None


def place_replicas(
    places: Sequence[Place],
    partition_count: int,
    replication_factor: int,
    *,
    start_index: int,
    shift: int,
    first_partition: int = 0,
) -> Placement:
    """`start_index` and `shift` are drawn by lot for a new topic, each below the number of brokers."""
    _check_counts(len(places), partition_count, replication_factor)
    racks = racks_of(places)
    ring = alternating(racks) if racks else sorted(place.broker_id for place in places)
    placement: Placement = {}
    for partition in range(first_partition, first_partition + partition_count):
        if partition > 0 and partition % len(ring) == 0:
            shift += 1
        first = (partition + start_index) % len(ring)
        placement[partition] = _spread(ring, racks, first, shift, replication_factor)
    return placement


def place_added_partitions(
    places: Sequence[Place], existing: Mapping[int, Sequence[int]], partition_count: int
) -> Placement:
    """Partitions that are added to a topic go on where the topic began, so that the whole stays even."""
    first_leader = existing[0][0]
    ring = sorted(place.broker_id for place in places)
    start_index = next((index for index, broker_id in enumerate(ring) if broker_id >= first_leader), 0)
    return place_replicas(
        places,
        partition_count - len(existing),
        len(existing[0]),
        start_index=start_index,
        shift=start_index,
        first_partition=len(existing),
    )


def racks_of(places: Sequence[Place]) -> dict[int, str]:
    """By broker; empty where a rack is missing."""
    racks = {place.broker_id: place.rack for place in places if place.rack is not None}
    return racks if len(racks) == len(places) else {}


def alternating(racks: Mapping[int, str]) -> list[int]:
    """Brokers with the racks taking turns: of a: 0 1 2, b: 3 4 5, c: 6 it makes 0 3 6 1 4 2 5."""
    by_rack = {rack: sorted(one for one in racks if racks[one] == rack) for rack in sorted(set(racks.values()))}
    rounds = max(map(len, by_rack.values()))
    return [brokers[turn] for turn in range(rounds) for brokers in by_rack.values() if turn < len(brokers)]


def _check_counts(broker_count: int, partition_count: int, replication_factor: int) -> None:
    if partition_count <= 0:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"{partition_count} partitions: there must be at least 1")
    if replication_factor <= 0:
        raise Refused(ErrorCode.INVALID_REPLICATION_FACTOR, f"{replication_factor} replicas: there must be at least 1")
    if replication_factor > broker_count:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{replication_factor} replicas need as many brokers, and {broker_count} are available",
        )


def _spread(
    ring: Sequence[int], racks: Mapping[int, str], first: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    rack_count = len(set(racks.values()))
    chosen = [ring[first]]
    turn = 0
    while len(chosen) < replication_factor:
        step = shift * (rack_count or 1) + turn
        broker_id = ring[(first + 1 + step % (len(ring) - 1)) % len(ring)]
        if broker_id not in chosen and not _leaves_a_rack_out(broker_id, chosen, racks, rack_count):
            chosen.append(broker_id)
        turn += 1
    return tuple(chosen)


def _leaves_a_rack_out(broker_id: int, chosen: Sequence[int], racks: Mapping[int, str], rack_count: int) -> bool:
    taken = {racks[one] for one in chosen if one in racks}
    return broker_id in racks and racks[broker_id] in taken and len(taken) < rack_count
