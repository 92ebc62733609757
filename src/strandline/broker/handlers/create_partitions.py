"""CreatePartitions, v0-v3: topics grow (SPEC T3). What their keys were hashed to stays where it is."""

from __future__ import annotations

from collections import Counter

from strandline.broker.dispatch import Handler, Request
from strandline.broker.outcomes import error_of, tried
from strandline.broker.procedures import by_procedure
from strandline.broker.topic_administration import TopicAdministration
from strandline.broker.topic_requests import TopicRequests
from strandline.model.failures import ErrorCode, Refused
from strandline.wire.codec import decode, encode
from strandline.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


def create_partitions_handler(controller: TopicAdministration, requests: TopicRequests) -> Handler:
    def accept(topic: CreatePartitionsTopic, counts: Counter[str]) -> int:
        controller.check_here()
        if counts[topic.name] > 1:
            raise Refused(ErrorCode.INVALID_REQUEST, "The topic is in the request more than once.")
        return requests.partition_count(topic)

    async def grow(counts_wanted: dict[str, int], validate_only: bool) -> dict[str, Exception | None]:
        refused = tried(requests.check_total, requests.added_partitions(counts_wanted))
        if refused or validate_only:
            return dict.fromkeys(counts_wanted, refused)
        return await controller.add_partitions(counts_wanted)

    async def answer(request: Request) -> bytes:
        asked = decode(CreatePartitionsRequest, request.api_version, request.body)
        counts = Counter(topic.name for topic in asked.topics)
        accepted = {topic.name: tried(accept, topic, counts) for topic in asked.topics}
        wanted = {name: each for name, each in accepted.items() if isinstance(each, int)}
        outcomes = accepted | await grow(wanted, asked.validate_only)
        results = [CreatePartitionsTopicResult(name, *error_of(outcome)) for name, outcome in outcomes.items()]
        return encode(CreatePartitionsResponse(results=results), request.api_version)

    return by_procedure(answer)
