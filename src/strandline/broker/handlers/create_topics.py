"""CreateTopics, v2-v7: topics come, each with its own outcome; answered when they can be used (SPEC T3).

Version 5 tells what became of defaults, version 7 the topics' ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from strandline.broker.configs.description import describe_topic
from strandline.broker.configuration import Configuration
from strandline.broker.dispatch import Handler, Request
from strandline.broker.host import Host
from strandline.broker.new_topics import NewTopic
from strandline.broker.outcomes import error_of, tried
from strandline.broker.procedures import by_procedure, encoded, in_turns
from strandline.broker.topic_administration import TopicAdministration
from strandline.broker.topic_requests import TopicRequests
from strandline.model.failures import ErrorCode, Refused
from strandline.wire.codec import decode
from strandline.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

DESCRIBED_FROM = 5
Descriptions = dict[frozenset[tuple[str, str]], list[CreatableTopicConfigs]]  # by the settings a topic has of its own


def create_topics_handler(
    controller: TopicAdministration, requests: TopicRequests, configuration: Configuration, host: Host
) -> Handler:
    def accept(topic: CreatableTopic, counts: Counter[str], refused_names: dict[str, Refused]) -> NewTopic:
        if counts[topic.name] > 1:
            raise Refused(ErrorCode.INVALID_REQUEST, "The topic is in the request more than once.")
        if topic.name in refused_names:
            raise refused_names[topic.name]
        return requests.new_topic(topic)

    async def accept_all(topics: Sequence[CreatableTopic]) -> dict[str, NewTopic | Refused]:
        refused = tried(controller.check_here) or tried(requests.check_total, len(topics))
        if refused:
            return dict.fromkeys((topic.name for topic in topics), refused)
        counts = Counter(topic.name for topic in topics)
        refused_names = controller.refused_names(counts)
        outcomes = await in_turns(host, topics, lambda topic: tried(accept, topic, counts, refused_names))
        too_many = tried(
            requests.check_total, sum(new.partition_count for new in outcomes if isinstance(new, NewTopic))
        )
        return {
            topic.name: too_many if too_many and isinstance(outcome, NewTopic) else outcome
            for topic, outcome in zip(topics, outcomes, strict=True)
        }

    def told(asked: CreatableTopic, new: NewTopic | Refused, outcome: UUID | Exception | None) -> CreatableTopicResult:
        result = CreatableTopicResult(asked.name, configs=[])
        result.error_code, result.error_message = error_of(new if isinstance(new, Refused) else outcome)
        if isinstance(new, NewTopic) and not result.error_code:
            result.num_partitions, result.replication_factor = new.partition_count, new.replication_factor
        if isinstance(outcome, UUID):
            result.topic_id = outcome.bytes
        return result

    def describe(result: CreatableTopicResult, new: NewTopic | Refused, alike: Descriptions) -> None:
        """Topics of one request mostly have the same settings of their own: those share one description."""
        if result.error_code or not isinstance(new, NewTopic):
            return
        own = frozenset(new.properties.items())
        if own not in alike:
            alike[own] = [
                CreatableTopicConfigs(each.name, each.value, each.is_read_only, each.source, each.is_sensitive)
                for each in describe_topic(configuration, new.properties)
            ]
        result.configs = alike[own]

    async def answer(request: Request) -> bytes:
        asked = decode(CreateTopicsRequest, request.api_version, request.body)
        accepted = await accept_all(asked.topics)
        outcomes: dict[str, UUID | Exception] = {}
        if not asked.validate_only:
            new_topics = [each for each in accepted.values() if isinstance(each, NewTopic)]
            outcomes = await controller.create_topics(new_topics)
        results = await in_turns(
            host, asked.topics, lambda topic: told(topic, accepted[topic.name], outcomes.get(topic.name))
        )
        if request.api_version >= DESCRIBED_FROM:
            alike: Descriptions = {}
            await in_turns(host, results, lambda result: describe(result, accepted[result.name], alike))
        return await encoded(host, CreateTopicsResponse(topics=results), request.api_version, len(results))

    return by_procedure(answer)
