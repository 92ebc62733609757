"""A question about many partitions, asked of each partition's leader, again and again for those that moved."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from strandline.client.cluster import Cluster
from strandline.client.connection import Connection
from strandline.client.failures import BrokerRefused, ClientError, may_pass
from strandline.client.patience import Patience
from strandline.client.view import NO_LEADER
from strandline.model.error_codes import ErrorCode
from strandline.model.partitions import TopicPartition

T = TypeVar("T")
Outcomes = dict[TopicPartition, T | ClientError]
Ask = Callable[[Connection, list[TopicPartition]], Awaitable[Outcomes[T]]]


async def ask_leaders(
    cluster: Cluster, partitions: Collection[TopicPartition], ask: Ask[T], timeout_ms: int | None = None
) -> Outcomes[T]:
    """What each leader answered; errors that may pass are tried again until `default.api.timeout.ms` is over.

    A timeout of 0 is for those who want to know how things are, not to wait until they are well.
    """
    patience = Patience(cluster.settings, timeout_ms)
    outcomes: Outcomes[T] = {}
    left = list(dict.fromkeys(partitions))
    while True:
        outcomes.update(await _ask_once(cluster, left, ask))
        errors = {each: outcome for each in left if isinstance(outcome := outcomes[each], ClientError)}
        left = [each for each, error in errors.items() if may_pass(error)]
        if not left or timeout_ms == 0:
            return outcomes
        for each in left:
            cluster.distrust(each.topic)
        try:
            await patience.pause(errors[left[0]])
        except ClientError as error:
            outcomes.update(dict.fromkeys(left, error))
            return outcomes


async def _ask_once(cluster: Cluster, partitions: list[TopicPartition], ask: Ask[T]) -> Outcomes[T]:
    topics = await cluster.topics({partition.topic for partition in partitions})
    outcomes: Outcomes[T] = {}
    by_leader: defaultdict[int, list[TopicPartition]] = defaultdict(list)
    for partition in partitions:
        view = topics[partition.topic].partitions.get(partition.partition)
        if view is None:
            outcomes[partition] = _no_partition(partition, len(topics[partition.topic].partitions))
        elif view.leader_id == NO_LEADER:
            outcomes[partition] = BrokerRefused(ErrorCode.LEADER_NOT_AVAILABLE, str(partition))
        else:
            by_leader[view.leader_id].append(partition)
    asked = [_ask_leader(cluster, leader_id, group, ask) for leader_id, group in by_leader.items()]
    for answers in await asyncio.gather(*asked):
        outcomes.update(answers)
    return outcomes


async def _ask_leader(cluster: Cluster, leader_id: int, partitions: list[TopicPartition], ask: Ask[T]) -> Outcomes[T]:
    try:
        return await ask(await cluster.broker(leader_id), partitions)
    except ClientError as error:
        return dict.fromkeys(partitions, error)


def _no_partition(partition: TopicPartition, count: int) -> ClientError:
    return ClientError(f"topic {partition.topic} has no partition {partition.partition}: it has 0 to {count - 1}")


def values_of(outcomes: Outcomes[T]) -> dict[TopicPartition, T]:
    """All of them, or the first error."""
    for outcome in outcomes.values():
        if isinstance(outcome, ClientError):
            raise outcome
    return {partition: outcome for partition, outcome in outcomes.items() if not isinstance(outcome, ClientError)}


def by_topic(partitions: Collection[TopicPartition]) -> dict[str, list[int]]:
    grouped: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in partitions:
        grouped[topic].append(partition)
    return dict(grouped)
