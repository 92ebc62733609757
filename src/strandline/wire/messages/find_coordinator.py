"""FindCoordinator (10), versions 0 to 6, flexible from 3: which broker looks after a group or a transactional id."""

from __future__ import annotations

from typing import ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.layout import Message, int8, int16, int32, many, text


@dataclass(slots=True)
class FindCoordinatorRequest(Message):
    api_key: ClassVar[int] = 10
    key: str = text(until=3)
    key_type: int = int8(since=1)
    coordinator_keys: list[str] = many("string", since=4)


@dataclass(slots=True)
class Coordinator:
    key: str = text()
    node_id: int = int32()
    host: str = text()
    port: int = int32()
    error_code: int = int16()
    error_message: str | None = text(None, nullable_since=0)


@dataclass(slots=True)
class FindCoordinatorResponse(Message):
    api_key: ClassVar[int] = 10
    throttle_time_ms: int = int32(since=1)
    error_code: int = int16(until=3)
    error_message: str | None = text(None, since=1, until=3, nullable_since=0)
    node_id: int = int32(until=3)
    host: str = text(until=3)
    port: int = int32(until=3)
    coordinators: list[Coordinator] = many(Coordinator, since=4)
