"""DescribeConfigs, v1-v4: settings of topics and brokers, with their sources and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.configs.description import (
    DescribedConfig,
    describe_broker,
    describe_default_broker,
    describe_topic,
)
from strandline.broker.configs.resources import ResourceType, broker_of, unsupported
from strandline.broker.configuration import Configuration
from strandline.broker.dispatch import Handler, Request
from strandline.broker.host import Host
from strandline.broker.procedures import by_procedure, encoded, in_turns
from strandline.model.failures import Refused
from strandline.model.partitions import check_topic_name
from strandline.wire.codec import decode
from strandline.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


def describe_configs_handler(configuration: Configuration, image: ClusterImage, broker_id: int, host: Host) -> Handler:
    def describe(resource: DescribeConfigsResource) -> Iterator[DescribedConfig]:
        if resource.resource_type == ResourceType.TOPIC:
            check_topic_name(resource.resource_name)
            if resource.resource_name not in image.topics:
                raise image.no_topic(resource.resource_name)
            return describe_topic(configuration, configuration.topics.get(resource.resource_name, {}))
        if resource.resource_type == ResourceType.BROKER:
            is_default = broker_of(resource.resource_name, broker_id) is None
            return describe_default_broker(configuration) if is_default else describe_broker(configuration)
        raise unsupported(resource.resource_type)

    def answer(resource: DescribeConfigsResource, asked: DescribeConfigsRequest) -> DescribeConfigsResult:
        result = DescribeConfigsResult(0, None, resource.resource_type, resource.resource_name)
        try:
            described = describe(resource)
        except Refused as refused:
            result.error_code, result.error_message = refused.error_code, refused.reason
            return result
        documentation = _documentation(resource.resource_type) if asked.include_documentation else {}
        wanted = set(resource.configuration_keys or ())
        result.configs = [
            _entry(config, asked.include_synonyms, documentation.get(config.name))
            for config in described
            if not wanted or config.name in wanted
        ]
        return result

    async def answer_all(request: Request) -> bytes:
        asked = decode(DescribeConfigsRequest, request.api_version, request.body)
        results = await in_turns(host, asked.resources, lambda resource: answer(resource, asked))
        return await encoded(host, DescribeConfigsResponse(results=results), request.api_version, len(results))

    return by_procedure(answer_all)


def _documentation(resource_type: int) -> Mapping[str, str]:
    from strandline.broker.configs import documentation  # text that few ask for

    is_topic = resource_type == ResourceType.TOPIC
    return documentation.TOPIC_DOCUMENTATION if is_topic else documentation.BROKER_DOCUMENTATION


def _entry(config: DescribedConfig, with_synonyms: bool, documentation: str | None) -> DescribeConfigsResourceResult:
    synonyms = [DescribeConfigsSynonym(*synonym) for synonym in config.synonyms] if with_synonyms else []
    return DescribeConfigsResourceResult(
        config.name,
        config.value,
        config.is_read_only,
        config.source,
        config.is_sensitive,
        synonyms,
        config.kind,
        documentation,
    )
