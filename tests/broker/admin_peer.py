"""Admin requests, each in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.broker.running_broker import BrokerPeer, RunningBroker, batch_of

from strandline.broker.configs.operations import OperationKind
from strandline.broker.configs.resources import ResourceType
from strandline.wire.messages import alter_configs, incremental_alter_configs
from strandline.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from strandline.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from strandline.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from strandline.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from strandline.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from strandline.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

LIST_OF_SETTINGS = Mapping[str, str | None]


class Alteration(NamedTuple):
    name: str
    value: str | None = None
    kind: int = OperationKind.SET


def topic(
    name: str,
    partitions: int = -1,
    replicas: int = -1,
    *,
    assignments: Mapping[int, Sequence[int]] | Sequence[tuple[int, Sequence[int]]] = (),
    configs: LIST_OF_SETTINGS | None = None,
) -> CreatableTopic:
    pairs = assignments.items() if isinstance(assignments, Mapping) else assignments
    return CreatableTopic(
        name,
        partitions,
        replicas,
        [CreatableReplicaAssignment(index, list(broker_ids)) for index, broker_ids in pairs],
        [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()],
    )


class AdminPeer(BrokerPeer):
    @classmethod
    def of(cls, broker: RunningBroker) -> AdminPeer:
        return cls(broker.address)

    def create(
        self, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
    ) -> list[CreatableTopicResult]:
        request = CreateTopicsRequest(list(topics), 5_000, validate_only)
        return self.ask(request, version, CreateTopicsResponse).topics

    def create_one(self, name: str, partitions: int = 1, configs: LIST_OF_SETTINGS | None = None) -> bytes:
        """Gives its id."""
        (result,) = self.create(topic(name, partitions, 1, configs=configs))
        assert result.error_code == 0, result.error_message
        return result.topic_id

    def delete(self, *topics: str | bytes | DeleteTopicState, version: int = 6) -> list[DeletableTopicResult]:
        if version < 6:
            request = DeleteTopicsRequest([str(name) for name in topics], timeout_ms=5_000)
        else:
            states = [_state(each) for each in topics]
            request = DeleteTopicsRequest(topics=states, timeout_ms=5_000)
        return self.ask(request, version, DeleteTopicsResponse).responses

    def grow(
        self,
        *counts: tuple[str, int],
        assignments: Sequence[Sequence[int]] | None = None,
        version: int = 3,
        validate_only: bool = False,
    ) -> list[tuple[str, int]]:
        """Names with error codes."""
        assigned = None if assignments is None else [CreatePartitionsAssignment(list(each)) for each in assignments]
        topics = [CreatePartitionsTopic(name, count, assigned) for name, count in counts]
        request = CreatePartitionsRequest(topics, 5_000, validate_only)
        return [(each.name, each.error_code) for each in self.ask(request, version, CreatePartitionsResponse).results]

    def delete_records(self, name: str, offset: int, index: int = 0, version: int = 2) -> DeleteRecordsPartitionResult:
        request = DeleteRecordsRequest([DeleteRecordsTopic(name, [DeleteRecordsPartition(index, offset)])], 5_000)
        return self.ask(request, version, DeleteRecordsResponse).topics[0].partitions[0]

    def partition_count(self, name: str) -> int:
        return len(self.metadata(name).topics[0].partitions)

    def metadata(self, *names: str) -> MetadataResponse:
        request = MetadataRequest([MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False)
        return self.ask(request, 12, MetadataResponse)

    # Settings.

    def describe(
        self,
        resource_type: int,
        name: str,
        keys: list[str] | None = None,
        *,
        version: int = 4,
        synonyms: bool = True,
        documentation: bool = False,
    ) -> DescribeConfigsResult:
        resource = DescribeConfigsResource(resource_type, name, keys)
        request = DescribeConfigsRequest([resource], synonyms, documentation)
        (result,) = self.ask(request, version, DescribeConfigsResponse).results
        return result

    def setting(self, name: str, topic: str | None = None, broker: str = "1") -> DescribeConfigsResourceResult:
        kind, whose = (ResourceType.BROKER, broker) if topic is None else (ResourceType.TOPIC, topic)
        (found,) = self.describe(kind, whose, [name]).configs
        return found

    def alter(
        self, resource_type: int, name: str, *changes: Alteration, version: int = 1, validate_only: bool = False
    ) -> tuple[int, str | None]:
        """Error code and message."""
        configs = [incremental_alter_configs.AlterableConfig(each.name, each.kind, each.value) for each in changes]
        resource = incremental_alter_configs.AlterConfigsResource(resource_type, name, configs)
        request = incremental_alter_configs.IncrementalAlterConfigsRequest([resource], validate_only)
        (told,) = self.ask(request, version, incremental_alter_configs.IncrementalAlterConfigsResponse).responses
        return told.error_code, told.error_message

    def set_topic(self, name: str, **settings: str) -> None:
        self._must(self.alter(ResourceType.TOPIC, name, *_alterations(settings)))

    def set_broker(self, name: str = "1", **settings: str) -> None:
        self._must(self.alter(ResourceType.BROKER, name, *_alterations(settings)))

    def replace(
        self, resource_type: int, name: str, configs: LIST_OF_SETTINGS, *, version: int = 2
    ) -> tuple[int, str | None]:
        entries = [alter_configs.AlterableConfig(key, value) for key, value in configs.items()]
        resource = alter_configs.AlterConfigsResource(resource_type, name, entries)
        request = alter_configs.AlterConfigsRequest([resource])
        (told,) = self.ask(request, version, alter_configs.AlterConfigsResponse).responses
        return told.error_code, told.error_message

    @staticmethod
    def _must(told: tuple[int, str | None]) -> None:
        assert told[0] == 0, told[1]

    def fill(self, name: str, *values: bytes) -> None:
        """One batch for each value."""
        for answer in self.produce(name, *(batch_of(value) for value in values)):
            assert answer.error_code == 0


def _state(each: str | bytes | DeleteTopicState) -> DeleteTopicState:
    if isinstance(each, DeleteTopicState):
        return each
    return DeleteTopicState(each) if isinstance(each, str) else DeleteTopicState(None, each)


def _alterations(settings: Mapping[str, str]) -> list[Alteration]:
    return [Alteration(name.replace("_", "."), value) for name, value in settings.items()]
