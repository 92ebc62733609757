"""Topics: to create, delete and give more partitions. Each topic has its own outcome: None, or why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused
from strandline.model.lazy_dataclass import dataclass
from strandline.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from strandline.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from strandline.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

BROKERS_DEFAULT = -1  # num.partitions and default.replication.factor (KIP-464)

Refusals = dict[str, BrokerRefused | None]


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    partitions: int = BROKERS_DEFAULT
    replication_factor: int = BROKERS_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)
    replicas: Mapping[int, Sequence[int]] = field(default_factory=dict)  # by partition, instead of the two numbers


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    name: str
    refusal: BrokerRefused | None
    topic_id: bytes
    partitions: int  # -1 where the broker does not say
    replication_factor: int


async def create_topics(
    cluster: Cluster, topics: Sequence[NewTopic], *, validate_only: bool = False
) -> list[CreatedTopic]:
    request = CreateTopicsRequest(
        [_creatable(topic) for topic in topics], cluster.settings.request_timeout_ms, validate_only
    )
    response = await cluster.ask_controller(
        request, CreateTopicsResponse, lambda answer: [each.error_code for each in answer.topics]
    )
    return [
        CreatedTopic(
            each.name,
            _refusal(each.error_code, f"topic {each.name}", each.error_message),
            each.topic_id,
            each.num_partitions,
            each.replication_factor,
        )
        for each in response.topics
    ]


def _creatable(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        topic.name,
        BROKERS_DEFAULT if topic.replicas else topic.partitions,
        BROKERS_DEFAULT if topic.replicas else topic.replication_factor,
        [CreatableReplicaAssignment(index, list(brokers)) for index, brokers in topic.replicas.items()],
        [CreatableTopicConfig(name, value) for name, value in topic.configs.items()],
    )


async def delete_topics(cluster: Cluster, names: Sequence[str]) -> Refusals:
    states = [DeleteTopicState(name) for name in names]
    request = DeleteTopicsRequest(list(names), states, cluster.settings.request_timeout_ms)
    response = await cluster.ask_controller(
        request, DeleteTopicsResponse, lambda answer: [each.error_code for each in answer.responses]
    )
    for name in names:
        cluster.distrust(name)
    return {
        each.name or "": _refusal(each.error_code, f"topic {each.name}", each.error_message)
        for each in response.responses
    }


async def set_partition_counts(cluster: Cluster, counts: Mapping[str, int], *, validate_only: bool = False) -> Refusals:
    """How many partitions each topic shall have, which can only be more than it has."""
    topics = [CreatePartitionsTopic(name, count) for name, count in counts.items()]
    request = CreatePartitionsRequest(topics, cluster.settings.request_timeout_ms, validate_only)
    response = await cluster.ask_controller(
        request, CreatePartitionsResponse, lambda answer: [each.error_code for each in answer.results]
    )
    for name in counts:
        cluster.distrust(name)
    return {each.name: _refusal(each.error_code, f"topic {each.name}", each.error_message) for each in response.results}


def _refusal(error_code: int, what: str, said: str | None) -> BrokerRefused | None:
    return BrokerRefused(error_code, what, said) if error_code else None
