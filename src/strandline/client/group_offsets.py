"""The offsets that a group has committed: to read, to write, to delete."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused
from strandline.client.leaders import by_topic
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from strandline.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from strandline.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

NOT_A_MEMBER = -1
NONE_COMMITTED = -1
# From version 10 on, topics go by id, which a topic that was deleted no longer has for us.
BY_NAME_UNTIL = 9


class Committed(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str


class Membership(NamedTuple):
    """As whom to commit; outside of a group's members, as nobody."""

    generation: int = NOT_A_MEMBER
    member_id: str = ""
    instance_id: str | None = None


NOBODY = Membership()


async def committed_offsets(
    cluster: Cluster, group_id: str, partitions: Collection[TopicPartition] | None = None
) -> dict[TopicPartition, Committed]:
    """Of these partitions, or of all there are. Those without a committed offset are left out."""
    grouped = None if partitions is None else by_topic(partitions)
    old = None if grouped is None else [OffsetFetchRequestTopic(name, each) for name, each in grouped.items()]
    new = None
    if grouped is not None:
        new = [OffsetFetchRequestTopics(name, partition_indexes=each) for name, each in grouped.items()]
    request = OffsetFetchRequest(group_id, old, [OffsetFetchRequestGroup(group_id, topics=new)], require_stable=True)
    response = await cluster.ask_coordinator(
        group_id, request, OffsetFetchResponse, _fetch_codes, version_max=BY_NAME_UNTIL
    )
    group = response.groups[0] if response.groups else response
    if group.error_code:
        raise BrokerRefused(group.error_code, f"offsets of group {group_id}")
    found = {}
    for topic in group.topics:
        for each in topic.partitions:
            partition = TopicPartition(topic.name, each.partition_index)
            if each.error_code:
                raise BrokerRefused(each.error_code, f"offset of group {group_id} in {partition}")
            if each.committed_offset != NONE_COMMITTED:
                found[partition] = Committed(each.committed_offset, each.committed_leader_epoch, each.metadata or "")
    return found


def _fetch_codes(response: OffsetFetchResponse) -> list[int]:
    codes = [response.error_code, *(group.error_code for group in response.groups)]
    codes += [each.error_code for topic in response.topics for each in topic.partitions]
    codes += [each.error_code for group in response.groups for topic in group.topics for each in topic.partitions]
    return codes


async def commit_offsets(
    cluster: Cluster,
    group_id: str,
    offsets: Mapping[TopicPartition, int],
    membership: Membership = NOBODY,
    metadata: Mapping[TopicPartition, str] | None = None,
) -> None:
    """`metadata` is what a consumer wants to remember beside an offset; the broker keeps it and does not look at it."""
    notes = metadata or {}
    if not offsets:
        return
    topics = [
        OffsetCommitRequestTopic(
            name,
            partitions=[
                OffsetCommitRequestPartition(
                    index,
                    offsets[TopicPartition(name, index)],
                    committed_metadata=notes.get(TopicPartition(name, index), ""),
                )
                for index in indexes
            ],
        )
        for name, indexes in by_topic(offsets).items()
    ]
    request = OffsetCommitRequest(
        group_id,
        membership.generation,
        membership.member_id,
        group_instance_id=membership.instance_id,
        topics=topics,
    )
    response = await cluster.ask_coordinator(
        group_id, request, OffsetCommitResponse, _commit_codes, version_max=BY_NAME_UNTIL
    )
    for topic in response.topics:
        for each in topic.partitions:
            if each.error_code:
                where = TopicPartition(topic.name, each.partition_index)
                raise BrokerRefused(each.error_code, f"committing {where} for group {group_id}")


def _commit_codes(response: OffsetCommitResponse) -> list[int]:
    return [each.error_code for topic in response.topics for each in topic.partitions]


async def delete_offsets(cluster: Cluster, group_id: str, partitions: Collection[TopicPartition]) -> None:
    topics = [
        OffsetDeleteRequestTopic(name, [OffsetDeleteRequestPartition(index) for index in indexes])
        for name, indexes in by_topic(partitions).items()
    ]
    response = await cluster.ask_coordinator(
        group_id,
        OffsetDeleteRequest(group_id, topics),
        OffsetDeleteResponse,
        lambda answer: [answer.error_code],
    )
    if response.error_code:
        raise BrokerRefused(response.error_code, f"deleting offsets of group {group_id}")
    for topic in response.topics:
        for each in topic.partitions:
            if each.error_code:
                where = TopicPartition(topic.name, each.partition_index)
                raise BrokerRefused(each.error_code, f"deleting the offset of group {group_id} in {where}")
