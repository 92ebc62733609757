"""DeleteTopics (20), versions 1 to 6, flexible from 4: topics to delete, by name or by id."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int16, int32, many, text, uuid


@dataclass(slots=True)
class DeleteTopicState:
    name: str | None = text(None, nullable_since=0)
    topic_id: bytes = uuid()


@dataclass(slots=True)
class DeleteTopicsRequest(Message):
    api_key: ClassVar[int] = 20
    topic_names: list[str] = many("string", until=5)
    topics: list[DeleteTopicState] = many(DeleteTopicState, since=6)
    timeout_ms: int = int32()


@dataclass(slots=True)
class DeletableTopicResult:
    name: str | None = text(None, nullable_since=6)
    topic_id: bytes = uuid(since=6)
    error_code: int = int16()
    error_message: str | None = text(None, since=5, nullable_since=0)


@dataclass(slots=True)
class DeleteTopicsResponse(Message):
    api_key: ClassVar[int] = 20
    throttle_time_ms: int = int32()
    responses: list[DeletableTopicResult] = many(DeletableTopicResult)
