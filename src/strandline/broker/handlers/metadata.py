"""Metadata, v0-v13: brokers, topics, leaders. A topic that is not there yet may be created by asking (SPEC P1).

Kafka answers such a request with an error and lets the client try again; here it waits for the topic, which takes a
few milliseconds, and the client goes on at once. Of very many, the first are created, and the others found not to
be there, for clients ask again.

A broker that has just started may know less than there is. Until it was told of all it answers with nothing, no topic
and no broker: every client knows that for no answer, and asks again, most of them another broker. Topics without
brokers would be worse than useless: librdkafka gives up all brokers that are not listed, and then has none to ask.
"""

from __future__ import annotations

from strandline.broker.cluster_image import BrokerAddress, ClusterImage, PartitionImage, TopicImage
from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.procedures import by_procedure
from strandline.broker.topic_administration import TopicAdministration
from strandline.metadata.errors import StoreError
from strandline.model.failures import ErrorCode, Refused
from strandline.model.partitions import is_topic_name
from strandline.wire.codec import decode
from strandline.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from strandline.wire.metadata import encode_metadata_response
from strandline.wire.primitives import NO_UUID


def metadata_handler(image: ClusterImage, controller: TopicAdministration) -> Handler:
    def respond(request: Request, asked: MetadataRequest, errors: dict[str, ErrorCode]) -> bytes:
        # Version 0 had no null: an empty list is all topics.
        wants_all = asked.topics is None or (request.api_version == 0 and not asked.topics)
        if not image.is_complete:
            return answer(request, [], [])
        if wants_all or asked.topics is None:
            topics = [_described(topic, topic.name) for topic in image.topics.values()]
        else:
            topics = [_answer(image, topic, errors) for topic in asked.topics]
        brokers = [_broker(broker, request.connection.local_address) for broker in image.brokers.values()]
        return answer(request, brokers, topics)

    def answer(request: Request, brokers: list[MetadataResponseBroker], topics: list[MetadataResponseTopic]) -> bytes:
        response = MetadataResponse(0, brokers, image.cluster_id, image.controller_id, topics)
        return encode_metadata_response(request.api_version, response)

    async def create_and_respond(request: Request) -> Body:
        asked = decode(MetadataRequest, request.api_version, request.body)
        return respond(request, asked, await create(missing(asked)))

    async def create(topics: list[str]) -> dict[str, ErrorCode]:
        failed = await controller.create_topics_by_default(topics)
        return {topic: _creation_error(failure) for topic, failure in failed.items()}

    def missing(asked: MetadataRequest) -> list[str]:
        wants_creation = asked.allow_auto_topic_creation and controller.creates_topics_by_default
        if not (asked.topics and wants_creation and image.is_complete):
            return []
        named = [topic.name for topic in asked.topics if topic.name is not None]
        unknown = [name for name in dict.fromkeys(named) if name not in image.topics and is_topic_name(name)]
        return unknown[: controller.topics_by_default_max]

    later = by_procedure(create_and_respond)

    def handle(request: Request) -> Body | Instead:
        asked = decode(MetadataRequest, request.api_version, request.body)
        return later(request) if missing(asked) else respond(request, asked, {})

    return handle


def _creation_error(failure: Exception) -> ErrorCode:
    """One that exists after all, or is just going, is worth another try; so is a store that does not answer."""
    if isinstance(failure, Refused) and failure.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
        return failure.error_code
    if isinstance(failure, Refused | StoreError):
        return ErrorCode.LEADER_NOT_AVAILABLE
    raise failure


def _answer(image: ClusterImage, asked: MetadataRequestTopic, errors: dict[str, ErrorCode]) -> MetadataResponseTopic:
    if asked.name is None:
        by_id = image.topics_by_id.get(asked.topic_id)
        if by_id is None:
            return MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, asked.topic_id)
        return _described(by_id, by_id.name)
    topic = image.topics.get(asked.name)
    if topic is not None:
        return _described(topic, asked.name)
    if not is_topic_name(asked.name):
        return MetadataResponseTopic(ErrorCode.INVALID_TOPIC_EXCEPTION, asked.name, NO_UUID)
    return MetadataResponseTopic(errors.get(asked.name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), asked.name, NO_UUID)


def _described(topic: TopicImage, name: str) -> MetadataResponseTopic:
    partitions = [_partition(index, partition) for index, partition in topic.partitions.items()]
    return MetadataResponseTopic(ErrorCode.NONE, name, topic.topic_id.bytes, topic.is_internal, partitions)


def _partition(index: int, partition: PartitionImage) -> MetadataResponsePartition:
    error_code = ErrorCode.NONE if partition.leader_id >= 0 else ErrorCode.LEADER_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code,
        index,
        partition.leader_id,
        partition.leader_epoch,
        list(partition.replicas),
        list(partition.isr),
        list(partition.offline_replicas),
    )


def _broker(broker: BrokerAddress, reached_by: tuple[str, int]) -> MetadataResponseBroker:
    return MetadataResponseBroker(broker.broker_id, *broker.address_for(reached_by), broker.rack)
