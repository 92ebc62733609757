"""OffsetCommit, v2-v10: how far a group has come. v9 knows the epochs of KIP-848, v10 names topics by their ids.

Offsets of partitions that there are not are refused one by one, and the others committed. A request that has none left
is not the coordinator's business.
"""

from __future__ import annotations

from functools import partial

from strandline.broker.cluster_image import ClusterImage, TopicImage
from strandline.broker.dispatch import Body, Handler, Instead, Request
from strandline.broker.group_coordinator import GroupCoordinator
from strandline.broker.group_requests import ask_for_group
from strandline.groups.commands import OffsetCommit, OffsetToCommit
from strandline.groups.replies import OffsetCommitReply
from strandline.model.failures import ErrorCode
from strandline.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from strandline.wire.offset_commit import decode_offset_commit_request, encode_offset_commit_response

EPOCHS_FROM = 9
TOPIC_IDS_FROM = 10


class Commit:
    """One request: what is to be committed, and the places in the response where the outcome goes."""

    __slots__ = ("_places", "offsets", "response")

    def __init__(self) -> None:
        self.response = OffsetCommitResponse()
        self.offsets: list[OffsetToCommit] = []
        self._places: list[OffsetCommitResponsePartition] = []

    def add_topic(self, asked: OffsetCommitRequestTopic, topic: TopicImage | None, unknown: ErrorCode) -> None:
        answer = OffsetCommitResponseTopic(asked.name, asked.topic_id)
        self.response.topics.append(answer)
        for wanted in asked.partitions:
            place = OffsetCommitResponsePartition(wanted.partition_index)
            answer.partitions.append(place)
            if topic is None:
                place.error_code = unknown
            elif wanted.partition_index not in topic.partitions:
                place.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                self._places.append(place)
                self.offsets.append(
                    OffsetToCommit(
                        topic=topic.name,
                        partition=wanted.partition_index,
                        offset=wanted.committed_offset,
                        leader_epoch=wanted.committed_leader_epoch,
                        metadata=wanted.committed_metadata,
                    )
                )

    def respond(self, version: int, reply: OffsetCommitReply) -> bytes:
        for place, result in zip(self._places, reply.results, strict=True):
            place.error_code = result.error_code
        return encode_offset_commit_response(version, self.response)


def offset_commit_handler(coordinator: GroupCoordinator, image: ClusterImage) -> Handler:
    def handle(request: Request) -> Body | Instead:
        version = request.api_version
        asked = decode_offset_commit_request(version, request.body)
        commit = Commit()
        by_id = version >= TOPIC_IDS_FROM
        unknown = _unknown(image, by_id=by_id)
        for topic in asked.topics:
            known = image.topics_by_id.get(topic.topic_id) if by_id else image.topics.get(topic.name)
            commit.add_topic(topic, known, unknown)
        if not commit.offsets:
            return encode_offset_commit_response(version, commit.response)
        command = _command(version, asked, commit)
        return ask_for_group(coordinator, request, asked.group_id, command, partial(commit.respond, version))

    return handle


def _unknown(image: ClusterImage, *, by_id: bool) -> ErrorCode:
    """Who has not been told of all topics yet coordinates nothing: a consumer gives up for a topic that has gone."""
    if not image.is_complete:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _command(version: int, asked: OffsetCommitRequest, commit: Commit) -> OffsetCommit:
    return OffsetCommit(
        group=asked.group_id,
        member_id=asked.member_id,
        group_instance_id=asked.group_instance_id,
        generation=asked.generation_id_or_member_epoch,
        retention_time_ms=asked.retention_time_ms,
        knows_epochs=version >= EPOCHS_FROM,
        offsets=tuple(commit.offsets),
    )
