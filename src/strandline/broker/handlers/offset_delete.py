"""OffsetDelete, v0: a group forgets how far it has come in topics that it does not read (KIP-496)."""

from __future__ import annotations

from strandline.broker.cluster_image import ClusterImage
from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_group
from strandline.groups.commands import OffsetDelete
from strandline.groups.replies import OffsetDeleteReply
from strandline.model.failures import ErrorCode
from strandline.model.partitions import TopicPartition
from strandline.wire.codec import decode, encode
from strandline.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def offset_delete_handler(coordinator: GroupCoordinator, image: ClusterImage) -> Handler:
    def handle(request: Request) -> Body | Instead:
        asked = decode(OffsetDeleteRequest, request.api_version, request.body)
        deletion = Deletion(image, asked)
        command = OffsetDelete(group=asked.group_id, partitions=tuple(deletion.partitions))

        def respond(reply: OffsetDeleteReply) -> bytes:
            return encode(deletion.response(reply), request.api_version)

        return ask_for_group(coordinator, request, asked.group_id, command, respond)

    return handle


class Deletion:
    """What is to be forgotten, and the places in the response where the outcome goes."""

    __slots__ = ("_places", "_topics", "partitions")

    def __init__(self, image: ClusterImage, asked: OffsetDeleteRequest) -> None:
        self.partitions: list[TopicPartition] = []
        self._places: list[OffsetDeleteResponsePartition] = []
        self._topics: list[OffsetDeleteResponseTopic] = []
        for topic in asked.topics:
            known = image.topics.get(topic.name)
            answer = OffsetDeleteResponseTopic(topic.name)
            self._topics.append(answer)
            for partition in topic.partitions:
                place = OffsetDeleteResponsePartition(partition.partition_index)
                answer.partitions.append(place)
                if known is None or partition.partition_index not in known.partitions:
                    place.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                else:
                    self._places.append(place)
                    self.partitions.append(TopicPartition(topic.name, partition.partition_index))

    def response(self, reply: OffsetDeleteReply) -> OffsetDeleteResponse:
        if reply.error_code is not ErrorCode.NONE:
            return OffsetDeleteResponse(reply.error_code)
        for place, result in zip(self._places, reply.results, strict=True):
            place.error_code = result.error_code
        return OffsetDeleteResponse(topics=self._topics)
