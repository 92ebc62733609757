"""How a message is declared: a dataclass whose fields say their type on the wire and the versions that have them.

    @dataclass(slots=True)
    class CreatableTopicResult:
        name: str = text()
        topic_id: bytes = uuid(since=7)
        error_code: int = int16()
        error_message: str | None = text(None, nullable_since=0)
        topic_config_error_code: int = int16(since=5, tag=0)
        configs: list[CreatableTopicConfigs] | None = many(CreatableTopicConfigs, None, since=5, nullable_since=0)

One class covers all versions. Decoding a version that lacks a field gives the default; encoding leaves the field
out. A field with a tag is written only where it differs from its default (KIP-482). Order is the order on the wire.

Messages are not frozen: freezing makes one four times as dear, and a message has a single owner.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from strandline.model.lazy_dataclass import dataclass
from strandline.wire.primitives import NO_UUID

FOREVER = 2**15
NOT_NULLABLE = 2**15


class Message:
    """A request or a response."""

    __slots__ = ()
    api_key: ClassVar[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireType:
    """`name` of a primitive, or the class of a structure; `since` to `until` are the versions that have the field."""

    name: str = ""
    structure: type[Any] | None = None
    is_array: bool = False
    since: int = 0
    until: int = FOREVER
    nullable_since: int = NOT_NULLABLE
    tag: int | None = None

    @property
    def becomes_nullable(self) -> bool:
        return self.nullable_since != NOT_NULLABLE

    def is_in(self, version: int) -> bool:
        return self.since <= version <= self.until


def _field(default: Any, name: str, **rules: Any) -> Any:
    return field(default=default, metadata={"wire": WireType(name=name, **rules)})


def boolean(default: bool = False, **rules: Any) -> Any:
    return _field(default, "boolean", **rules)


def int8(default: int = 0, **rules: Any) -> Any:
    return _field(default, "int8", **rules)


def int16(default: int = 0, **rules: Any) -> Any:
    return _field(default, "int16", **rules)


def int32(default: int = 0, **rules: Any) -> Any:
    return _field(default, "int32", **rules)


def int64(default: int = 0, **rules: Any) -> Any:
    return _field(default, "int64", **rules)


def uint16(default: int = 0, **rules: Any) -> Any:
    return _field(default, "uint16", **rules)


def text(default: str | None = "", **rules: Any) -> Any:
    return _field(default, "string", **rules)


def blob(default: bytes | None = b"", **rules: Any) -> Any:
    """Bytes, copied out of the request."""
    return _field(default, "bytes", **rules)


def batches(default: bytes | None = None, **rules: Any) -> Any:
    """Record batches: a view of the request's bytes, which nobody copies."""
    return _field(default, "records", **rules)


def uuid(default: bytes = NO_UUID, **rules: Any) -> Any:
    return _field(default, "uuid", **rules)


def one(structure: type[Any], default: Any = (), **rules: Any) -> Any:
    """A structure: of its defaults unless `default` is None."""
    metadata = {"wire": WireType(structure=structure, **rules)}
    if default is None:
        return field(default=None, metadata=metadata)
    return field(default_factory=structure, metadata=metadata)


def many(element: type[Any] | str, default: Any = (), **rules: Any) -> Any:
    """An array of structures, or of the primitive of that name: empty unless `default` is None."""
    kind: dict[str, Any] = {"name": element} if isinstance(element, str) else {"structure": element}
    metadata = {"wire": WireType(is_array=True, **kind, **rules)}
    if default is None:
        return field(default=None, metadata=metadata)
    return field(default_factory=list, metadata=metadata)
