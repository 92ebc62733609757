"""Requests to change settings, in both forms: each resource on its own, with its own outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from strandline.broker.configs.changes import ConfigChanges
from strandline.broker.configs.operations import Change
from strandline.broker.configs.resources import ResourceType, broker_of, unsupported
from strandline.broker.outcomes import error_of
from strandline.broker.procedures import all_of
from strandline.model.failures import ErrorCode, Refused


class Resource(Protocol):
    resource_type: int
    resource_name: str


class Outcome(NamedTuple):
    """As both responses have it."""

    error_code: int
    error_message: str | None
    resource_type: int
    resource_name: str


SomeResource = TypeVar("SomeResource", bound=Resource)


class ConfigRequests:
    def __init__(self, changes: ConfigChanges, broker_id: int) -> None:
        self._changes = changes
        self._broker_id = broker_id

    async def alter(
        self, resources: Sequence[SomeResource], change_of: Callable[[SomeResource], Change], *, validate_only: bool
    ) -> list[Outcome]:
        counts = Counter((resource.resource_type, resource.resource_name) for resource in resources)

        async def alter(resource: SomeResource) -> None:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "Each resource may be named once.")
            await self._alter(resource, change_of, validate_only)

        done = await all_of(alter(resource) for resource in resources)
        return [
            Outcome(*error_of(outcome), resource.resource_type, resource.resource_name)
            for resource, outcome in zip(resources, done, strict=True)
        ]

    async def _alter(
        self, resource: SomeResource, change_of: Callable[[SomeResource], Change], validate_only: bool
    ) -> None:
        if resource.resource_type == ResourceType.TOPIC:
            await self._changes.change_topic(resource.resource_name, change_of(resource), validate_only=validate_only)
        elif resource.resource_type == ResourceType.BROKER:
            of_all = broker_of(resource.resource_name, self._broker_id) is None
            await self._changes.change_broker(change_of(resource), of_all=of_all, validate_only=validate_only)
        else:
            raise unsupported(resource.resource_type)
