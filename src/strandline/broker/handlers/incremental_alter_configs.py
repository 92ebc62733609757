"""IncrementalAlterConfigs, v0-v1: settings of topics and brokers change one by one (KIP-339)."""

from __future__ import annotations

from strandline.broker.configs.operations import Change, Increments, Operation
from strandline.broker.configs.requests import ConfigRequests
from strandline.broker.dispatch import Handler, Request
from strandline.broker.procedures import by_procedure
from strandline.wire.codec import decode, encode
from strandline.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def incremental_alter_configs_handler(requests: ConfigRequests) -> Handler:
    def change_of(resource: AlterConfigsResource) -> Change:
        return Increments.of(
            [Operation(config.config_operation, config.name, config.value) for config in resource.configs]
        )

    async def answer(request: Request) -> bytes:
        asked = decode(IncrementalAlterConfigsRequest, request.api_version, request.body)
        outcomes = await requests.alter(asked.resources, change_of, validate_only=asked.validate_only)
        responses = [AlterConfigsResourceResponse(*outcome) for outcome in outcomes]
        return encode(IncrementalAlterConfigsResponse(responses=responses), request.api_version)

    return by_procedure(answer)
