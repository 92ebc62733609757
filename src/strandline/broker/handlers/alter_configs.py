"""AlterConfigs, v0-v2: all settings of a topic or broker are replaced. IncrementalAlterConfigs came in its place."""

from __future__ import annotations

from strandline.broker.configs.operations import Change, Replacement
from strandline.broker.configs.requests import ConfigRequests
from strandline.broker.dispatch import Handler, Request
from strandline.broker.procedures import by_procedure
from strandline.wire.codec import decode, encode
from strandline.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def alter_configs_handler(requests: ConfigRequests) -> Handler:
    def change_of(resource: AlterConfigsResource) -> Change:
        return Replacement.of([(config.name, config.value) for config in resource.configs])

    async def answer(request: Request) -> bytes:
        asked = decode(AlterConfigsRequest, request.api_version, request.body)
        outcomes = await requests.alter(asked.resources, change_of, validate_only=asked.validate_only)
        responses = [AlterConfigsResourceResponse(*outcome) for outcome in outcomes]
        return encode(AlterConfigsResponse(responses=responses), request.api_version)

    return by_procedure(answer)
