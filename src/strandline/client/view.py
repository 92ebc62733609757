"""The cluster as one broker described it: brokers, topics, partitions and who leads them."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from strandline.client.settings import Address
from strandline.model.error_codes import ErrorCode
from strandline.model.lazy_dataclass import dataclass
from strandline.wire.messages.metadata import MetadataResponse, MetadataResponseTopic

NO_LEADER = -1


class Node(NamedTuple):
    node_id: int
    address: Address
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionView:
    index: int
    leader_id: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...] = ()
    error_code: int = ErrorCode.NONE

    @property
    def is_under_replicated(self) -> bool:
        return len(self.in_sync) < len(self.replicas)

    @property
    def has_leader(self) -> bool:
        return self.leader_id != NO_LEADER


@dataclass(frozen=True, slots=True)
class TopicView:
    name: str
    topic_id: bytes
    partitions: dict[int, PartitionView] = field(default_factory=dict)
    is_internal: bool = False
    error_code: int = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class ClusterView:
    nodes: dict[int, Node] = field(default_factory=dict)
    topics: dict[str, TopicView] = field(default_factory=dict)
    controller_id: int = NO_LEADER
    cluster_id: str | None = None

    def with_topics_of(self, older: ClusterView) -> ClusterView:
        """This view, and what an older one knows of other topics."""
        return ClusterView(self.nodes, {**older.topics, **self.topics}, self.controller_id, self.cluster_id)

    def name_of(self, topic_id: bytes) -> str | None:
        return next((name for name, topic in self.topics.items() if topic.topic_id == topic_id), None)


def view_of(response: MetadataResponse) -> ClusterView:
    nodes = (Node(each.node_id, Address(each.host, each.port), each.rack) for each in response.brokers)
    return ClusterView(
        {node.node_id: node for node in nodes},
        {topic.name: _topic_view(topic) for topic in response.topics if topic.name is not None},
        response.controller_id,
        response.cluster_id,
    )


def _topic_view(topic: MetadataResponseTopic) -> TopicView:
    partitions = {
        each.partition_index: PartitionView(
            each.partition_index,
            each.leader_id,
            each.leader_epoch,
            tuple(each.replica_nodes),
            tuple(each.isr_nodes),
            tuple(each.offline_replicas),
            each.error_code,
        )
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    }
    return TopicView(topic.name or "", topic.topic_id, partitions, topic.is_internal, topic.error_code)
