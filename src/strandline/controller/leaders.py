"""Leaders return to where they belong: by hand, by a request in the store, and by themselves (SPEC T5).

The first replica of a partition is its preferred leader, and placement spreads those evenly. When brokers restart,
leaders drift to the others. Every so often the controller counts, for each broker, how many of the partitions it
should lead are led by another; above `leader.imbalance.per.broker.percentage` it elects the preferred ones, where
they are in sync.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from strandline.controller.cluster import Cluster, Partition
from strandline.controller.draft import Draft
from strandline.controller.effects import SetTimer, TimerKind
from strandline.controller.events import ElectionRequestSeen, UncleanElectionChanged
from strandline.controller.replies import PartitionResult
from strandline.controller.requests import ElectionKind, ElectLeadersRequest
from strandline.controller.values import NO_LEADER
from strandline.controller.waiting import ElectionRequestWaiter, ElectionWaiter
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition


def elect_leaders(draft: Draft, request: ElectLeadersRequest) -> None:
    known = refusals(draft.cluster, request)
    found = (draft.cluster.partition(name) for name, refusal in known.items() if refusal is None)
    wanted = [partition for partition in found if partition is not None]
    preferred = {partition.name: partition.assignment.preferred for partition in wanted}
    waiter = ElectionWaiter(request.request, request.kind, known, preferred)
    for partition in wanted:
        if request.kind is ElectionKind.PREFERRED:
            want_preferred_leader(partition, "asked to elect the preferred leader")
        else:
            partition.allows_unclean = True
        partition.waiters.append(waiter)
        draft.touch(partition)
    draft.wait(waiter)


def want_preferred_leader(partition: Partition, cause: str) -> None:
    """It may be in sync by now: leaders give notice of that some seconds later, so the store is asked first."""
    partition.election = cause
    if partition.assignment.preferred not in partition.isr:
        partition.must_read = True


def refusals(cluster: Cluster, request: ElectLeadersRequest) -> dict[TopicPartition, PartitionResult | None]:
    """Who asks for all partitions does not want to hear which of them needed nothing."""
    if request.partitions is not None:
        return {name: refusal_of(cluster, request.kind, name) for name in request.partitions}
    everything = {one.name: refusal_of(cluster, request.kind, one.name) for one in cluster.all_partitions()}
    return {
        name: refusal
        for name, refusal in sorted(everything.items())
        if refusal is None or refusal.error_code is not ErrorCode.ELECTION_NOT_NEEDED
    }


def refusal_of(cluster: Cluster, kind: ElectionKind, name: TopicPartition) -> PartitionResult | None:
    partition = cluster.partition(name)
    if partition is None:
        return PartitionResult(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}")
    if cluster.topics[name.topic].shall_go:
        return PartitionResult(name, ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic {name.topic!r} is being deleted")
    is_led = partition.leader != NO_LEADER and cluster.is_there(partition.leader, name)
    is_preferred = partition.leader == partition.assignment.preferred
    if is_led and (kind is ElectionKind.UNCLEAN or is_preferred):
        return PartitionResult(name, ErrorCode.ELECTION_NOT_NEEDED, f"leader {partition.leader} is right")
    return None


def election_request_seen(draft: Draft, event: ElectionRequestSeen) -> None:
    found = (draft.cluster.partition(name) for name in sorted(event.partitions))
    partitions = [partition for partition in found if partition is not None]
    waiter = ElectionRequestWaiter(partition.name for partition in partitions)
    for partition in partitions:
        want_preferred_leader(partition, "the store asks to elect the preferred leader")
        partition.waiters.append(waiter)
        draft.touch(partition)
    draft.wait(waiter)


class Imbalance(NamedTuple):
    """How far a broker is from leading what it should."""

    broker_id: int
    preferred_count: int
    drifted: tuple[Partition, ...]

    @property
    def percentage(self) -> float:
        return 100 * len(self.drifted) / self.preferred_count


def imbalances(cluster: Cluster) -> Iterator[Imbalance]:
    preferred: dict[int, list[Partition]] = {}
    for topic in cluster.topics.values():
        if not topic.shall_go:
            for partition in topic.partitions.values():
                preferred.setdefault(partition.assignment.preferred, []).append(partition)
    for broker_id, partitions in sorted(preferred.items()):
        drifted = tuple(one for one in partitions if one.leadership is not None and one.leader != broker_id)
        yield Imbalance(broker_id, len(partitions), drifted)


def rebalance(draft: Draft) -> None:
    settings = draft.cluster.settings
    limit = settings.leader_imbalance_per_broker_percentage
    for imbalance in imbalances(draft.cluster):
        if imbalance.percentage <= limit:
            continue
        cause = (
            f"broker {imbalance.broker_id} leads {imbalance.preferred_count - len(imbalance.drifted)} of"
            f" {imbalance.preferred_count} it should, {imbalance.percentage:.0f}% imbalance above {limit}%"
        )
        for partition in imbalance.drifted:
            want_preferred_leader(partition, cause)
            draft.touch(partition)
    draft.set_timer(SetTimer(TimerKind.REBALANCE, draft.now_ms + settings.leader_imbalance_check_interval_ms))


def unclean_election_changed(draft: Draft, event: UncleanElectionChanged) -> None:
    cluster = draft.cluster
    if event.topic is None:
        cluster.unclean_by_default = bool(event.is_enabled)
        concerned = list(cluster.topics.values())
    else:
        if event.is_enabled is None:
            cluster.unclean_topics.pop(event.topic, None)
        else:
            cluster.unclean_topics[event.topic] = event.is_enabled
        concerned = [cluster.topics[event.topic]] if event.topic in cluster.topics else []
    for topic in concerned:
        for partition in topic.partitions.values():
            draft.touch(partition)
