"""DescribeTopicPartitions, v0: topics in the order of their names, by pages (KIP-966).

A page has at most as many partitions as the client wants, and as `max.request.partition.size.limit` allows. Its cursor
says where the next one begins. There is no telling of eligible leaders that are not in sync: nobody keeps such.
"""

from __future__ import annotations

from collections.abc import Iterator

from strandline.broker.authorized_operations import ON_TOPICS
from strandline.broker.broker_settings import BrokerSettings
from strandline.broker.cluster_image import ClusterImage, PartitionImage, TopicImage
from strandline.broker.configuration import Configuration
from strandline.broker.dispatch import Handler, Instead, Request
from strandline.model.failures import ErrorCode
from strandline.model.partitions import is_topic_name
from strandline.wire.codec import decode, encode
from strandline.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

ResponseTopic = DescribeTopicPartitionsResponseTopic


def describe_topic_partitions_handler(image: ClusterImage, configuration: Configuration) -> Handler:
    def wanted(asked: DescribeTopicPartitionsRequest) -> list[str]:
        names = {topic.name for topic in asked.topics} or image.topics
        first = asked.cursor.topic_name if asked.cursor else ""
        return sorted(name for name in names if name >= first)

    def page(asked: DescribeTopicPartitionsRequest, partitions_max: int) -> DescribeTopicPartitionsResponse:
        response, room = DescribeTopicPartitionsResponse(), partitions_max
        for name in wanted(asked):
            if room == 0:
                response.next_cursor = Cursor(name, 0)
                break
            topic = image.topics.get(name)
            if topic is None:
                response.topics.append(_unknown(name, image.error_of_missing))
                continue
            first = asked.cursor.partition_index if asked.cursor and asked.cursor.topic_name == name else 0
            indexes = [index for index in sorted(topic.partitions) if index >= first]
            response.topics.append(_described(topic, indexes[:room]))
            if len(indexes) > room:
                response.next_cursor = Cursor(name, indexes[room])
                break
            room -= len(indexes)
        return response

    def handle(request: Request) -> bytes | Instead:
        asked = decode(DescribeTopicPartitionsRequest, request.api_version, request.body)
        named = {topic.name for topic in asked.topics}
        if asked.cursor is not None and (
            asked.cursor.partition_index < 0 or (named and asked.cursor.topic_name not in named)
        ):
            return Instead.CLOSE  # the response has no place for an error
        limit = configuration.of_broker(BrokerSettings).max_request_partition_size_limit
        return encode(page(asked, max(1, min(limit, asked.response_partition_limit))), request.api_version)

    return handle


def _unknown(name: str, missing: ErrorCode) -> ResponseTopic:
    return ResponseTopic(missing if is_topic_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION, name)


def _described(topic: TopicImage, indexes: list[int]) -> ResponseTopic:
    partitions = list(_partitions(topic, indexes))
    return ResponseTopic(0, topic.name, topic.topic_id.bytes, topic.is_internal, partitions, ON_TOPICS)


def _partitions(topic: TopicImage, indexes: list[int]) -> Iterator[DescribeTopicPartitionsResponsePartition]:
    for index in indexes:
        partition: PartitionImage = topic.partitions[index]
        yield DescribeTopicPartitionsResponsePartition(
            ErrorCode.NONE if partition.leader_id >= 0 else ErrorCode.LEADER_NOT_AVAILABLE,
            index,
            partition.leader_id,
            partition.leader_epoch,
            list(partition.replicas),
            list(partition.isr),
            [],
            [],
            list(partition.offline_replicas),
        )
