"""Settings of topics and brokers: what they are, where each comes from, and changes to some of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, TypeVar

from strandline.client.cluster import Cluster
from strandline.client.failures import BrokerRefused, ClientError
from strandline.wire.layout import Message
from strandline.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from strandline.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

R = TypeVar("R", bound=Message)


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigSource(IntEnum):
    """From the most to the least particular."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER_DYNAMIC = 2
    CLUSTER_DYNAMIC = 3
    BROKER_STATIC = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Resource(NamedTuple):
    """A broker goes by its id; an empty one stands for all brokers."""

    kind: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.kind.name.lower()} {self.name}" if self.name else "all brokers"


class Config(NamedTuple):
    name: str
    value: str | None  # None: kept secret, or not set
    source: int
    is_read_only: bool
    is_sensitive: bool
    documentation: str
    inherited: str | None  # what it would be without its most particular value; None where that is unknown

    @property
    def is_default(self) -> bool:
        return self.source == ConfigSource.DEFAULT


class Change(NamedTuple):
    name: str
    operation: Operation
    value: str | None = None


async def describe_configs(
    cluster: Cluster, resource: Resource, names: Sequence[str] | None = None, *, documentation: bool = False
) -> list[Config]:
    return (await describe_many_configs(cluster, [resource], names, documentation=documentation))[resource]


async def describe_many_configs(
    cluster: Cluster, resources: Sequence[Resource], names: Sequence[str] | None = None, *, documentation: bool = False
) -> dict[Resource, list[Config]]:
    """Of several topics, or of one broker."""
    keys = None if names is None else list(names)
    request = DescribeConfigsRequest(
        [DescribeConfigsResource(resource.kind, resource.name, keys) for resource in resources], True, documentation
    )
    response = await _ask(cluster, resources[0], request, DescribeConfigsResponse)
    found = {}
    for result in response.results:
        resource = Resource(ResourceType(result.resource_type), result.resource_name)
        if result.error_code:
            raise BrokerRefused(result.error_code, str(resource), result.error_message)
        found[resource] = sorted(_configs(result))
    return found


def _configs(result: DescribeConfigsResult) -> list[Config]:
    return [
        Config(
            each.name,
            None if each.is_sensitive else each.value,
            each.config_source,
            each.read_only,
            each.is_sensitive,
            each.documentation or "",
            _inherited(each),
        )
        for each in result.configs
    ]


def _inherited(config: DescribeConfigsResourceResult) -> str | None:
    """The next in line; under its own name where it has another, for that may count in other units."""
    if len(config.synonyms) < 2:
        return None
    following = config.synonyms[1]
    return following.value if following.name == config.name else f"{following.name}={following.value}"


async def alter_configs(
    cluster: Cluster, resource: Resource, changes: Sequence[Change], *, validate_only: bool = False
) -> None:
    configs = [AlterableConfig(change.name, change.operation, change.value) for change in changes]
    request = IncrementalAlterConfigsRequest(
        [AlterConfigsResource(resource.kind, resource.name, configs)], validate_only
    )
    response = await _ask(cluster, resource, request, IncrementalAlterConfigsResponse)
    for each in response.responses:
        if each.error_code:
            raise BrokerRefused(each.error_code, str(resource), each.error_message)


async def _ask(cluster: Cluster, resource: Resource, request: Message, response: type[R]) -> R:
    """A broker's own settings are the broker's own affair: only it can be asked."""
    if resource.kind is ResourceType.BROKER and resource.name:
        if not cluster.view.nodes:
            await cluster.refresh(())
        if int(resource.name) not in cluster.view.nodes:
            raise ClientError(f"there is no broker {resource.name}: `strandline cluster info` shows which there are")
        return await cluster.ask_broker(int(resource.name), request, response, lambda _: [])
    return await cluster.ask_any(request, response, lambda _: [])
