"""DeleteTopics, v1-v6: topics go, by name or, from version 6 on, by id (SPEC T3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from strandline.broker.cluster_image import INTERNAL_TOPICS, JOURNAL
from strandline.broker.dispatch import Handler, Request
from strandline.broker.host import Host
from strandline.broker.outcomes import error_of, tried
from strandline.broker.procedures import by_procedure, encoded, in_turns
from strandline.broker.topic_administration import TopicAdministration
from strandline.model.failures import ErrorCode, Refused
from strandline.wire.codec import decode
from strandline.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from strandline.wire.primitives import NO_UUID

DISABLED_HAS_ITS_CODE_FROM = 3


def delete_topics_handler(controller: TopicAdministration, host: Host) -> Handler:
    def name_of(asked: DeleteTopicState) -> str:
        if (asked.name is None) == (asked.topic_id == NO_UUID):
            raise Refused(ErrorCode.INVALID_REQUEST, "A topic is named by its name or by its id, one of both.")
        controller.check_here()
        return controller.name_of(asked.topic_id) if asked.name is None else asked.name

    def check(name: str, counts: Counter[str], version: int) -> None:
        if not controller.settings.delete_topic_enable:
            disabled = ErrorCode.TOPIC_DELETION_DISABLED
            code = disabled if version >= DISABLED_HAS_ITS_CODE_FROM else ErrorCode.INVALID_REQUEST
            raise Refused(code, "Topics may not be deleted here: delete.topic.enable is false.")
        if counts[name] > 1:
            raise Refused(ErrorCode.INVALID_REQUEST, "The topic is in the request more than once.")
        if name in INTERNAL_TOPICS or name == JOURNAL:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name} is the cluster's own: it may not be deleted.")
        controller.check_there(name)

    async def delete(topics: Sequence[tuple[str, DeleteTopicState]], version: int) -> dict[str, Exception | None]:
        counts = Counter(name for name, _ in topics)
        checked = await in_turns(host, counts, lambda name: tried(check, name, counts, version))
        outcomes: dict[str, Exception | None] = dict(zip(counts, checked, strict=True))
        wanted = {
            name: None if asked.topic_id == NO_UUID else UUID(bytes=asked.topic_id)
            for name, asked in topics
            if outcomes[name] is None
        }
        return outcomes | await controller.delete_topics(wanted)

    async def answer(request: Request) -> bytes:
        version = request.api_version
        asked = decode(DeleteTopicsRequest, version, request.body)
        topics = asked.topics or [DeleteTopicState(name) for name in asked.topic_names]  # either, by the version
        names = await in_turns(host, topics, lambda topic: tried(name_of, topic))
        found = [(name, topic) for name, topic in zip(names, topics, strict=True) if isinstance(name, str)]
        outcomes = await delete(found, version)
        results = [
            DeletableTopicResult(name, topic.topic_id, *error_of(outcomes[name]))
            if isinstance(name, str)
            else DeletableTopicResult(topic.name, topic.topic_id, *error_of(name))
            for topic, name in zip(topics, names, strict=True)
        ]
        return await encoded(host, DeleteTopicsResponse(responses=results), version, len(results))

    return by_procedure(answer)
