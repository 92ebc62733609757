"""OffsetFetch, v1-v10: how far groups have come. Many groups from v8 on, topics by id in v10.

Null topics are all that the group has offsets of. v1 has no error for a whole group: each partition gets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_groups
from strandline.groups.commands import OffsetFetch
from strandline.groups.replies import FetchedOffset, OffsetFetchReply
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from strandline.wire.offset_fetch import decode_offset_fetch_request, encode_offset_fetch_response

GROUP_ERRORS_FROM = 2
TOPIC_IDS_FROM = 10
NO_OFFSET = -1


def offset_fetch_handler(coordinator: GroupCoordinator, image: ClusterImage) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode_offset_fetch_request(version, request.body)
        wanted = [GroupFetch(version, image, group) for group in asked.groups]

        def respond(replies: Sequence[OffsetFetchReply]) -> bytes:
            groups = [fetch.response(reply) for fetch, reply in zip(wanted, replies, strict=True)]
            return encode_offset_fetch_response(version, OffsetFetchResponse(groups=groups))

        commands = [(fetch.asked.group_id, fetch.command(asked.require_stable)) for fetch in wanted]
        return ask_for_groups(coordinator, request, commands, respond)

    return handle


class GroupFetch:
    """What is asked of one group."""

    __slots__ = ("_image", "_version", "asked")

    def __init__(self, version: int, image: ClusterImage, asked: OffsetFetchRequestGroup) -> None:
        self._version = version
        self._image = image
        self.asked = asked

    def command(self, require_stable: bool) -> OffsetFetch:
        partitions = None
        if self.asked.topics is not None:
            partitions = tuple(
                TopicPartition(name, index)
                for topic in self.asked.topics
                if (name := self._name_of(topic)) is not None
                for index in topic.partition_indexes
            )
        return OffsetFetch(
            group=self.asked.group_id,
            member_id=self.asked.member_id,
            member_epoch=self.asked.member_epoch,
            partitions=partitions,
            require_stable=require_stable,
        )

    def _name_of(self, topic: OffsetFetchRequestTopics) -> str | None:
        if self._version < TOPIC_IDS_FROM:
            return topic.name
        known = self._image.topics_by_id.get(topic.topic_id)
        return None if known is None else known.name

    def response(self, reply: OffsetFetchReply) -> OffsetFetchResponseGroup:
        response = OffsetFetchResponseGroup(self.asked.group_id, error_code=reply.error_code)
        if reply.error_code is ErrorCode.NONE:
            response.topics = self._all_topics(reply) if self.asked.topics is None else self._topics(reply)
        elif self._version < GROUP_ERRORS_FROM:
            response.topics = [_failed(topic, reply.error_code) for topic in self.asked.topics or ()]
        return response

    def _topics(self, reply: OffsetFetchReply) -> list[OffsetFetchResponseTopics]:
        """As they were asked for, with the offsets in that order."""
        offsets: Iterator[FetchedOffset] = iter(reply.offsets)
        topics = []
        for topic in self.asked.topics or ():
            if self._name_of(topic) is None:
                topics.append(_failed(topic, ErrorCode.UNKNOWN_TOPIC_ID))
            else:
                fetched = [_partition(next(offsets)) for _ in topic.partition_indexes]
                topics.append(OffsetFetchResponseTopics(topic.name, topic.topic_id, fetched))
        return topics

    def _all_topics(self, reply: OffsetFetchReply) -> list[OffsetFetchResponseTopics]:
        """Of topics that are gone there is no id to give."""
        topics: dict[str, OffsetFetchResponseTopics] = {}
        for offset in reply.offsets:
            known = self._image.topics.get(offset.topic)
            if self._version >= TOPIC_IDS_FROM and known is None:
                continue
            topic = topics.setdefault(offset.topic, OffsetFetchResponseTopics(offset.topic))
            topic.topic_id = topic.topic_id if known is None else known.topic_id.bytes
            topic.partitions.append(_partition(offset))
        return list(topics.values())


def _partition(offset: FetchedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        offset.partition, offset.offset, offset.leader_epoch, offset.metadata, offset.error_code
    )


def _failed(topic: OffsetFetchRequestTopics, error_code: ErrorCode) -> OffsetFetchResponseTopics:
    partitions = [
        OffsetFetchResponsePartitions(index, NO_OFFSET, metadata="", error_code=error_code)
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions)
