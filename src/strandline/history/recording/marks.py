"""How a record that was read is known to be one that was sent.

Values must be unique in a history, and those of applications are not. A recording producer gives each record a header
with a mark of its own; a recording consumer finds it there. Records without one are known by their value, or its
digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TypeAlias

HEADER = "strandline-history"
VALUE_BYTES_MAX = 100

Header = tuple[str, "str | bytes | None"]
Headers: TypeAlias = "dict[str, str | bytes | None] | list[Header]"


def mark_of(headers: Headers | None, value: bytes | str | None, header: str | None) -> str:
    for name, content in _pairs(headers):
        if name == header and content is not None:
            return content if isinstance(content, str) else content.decode("utf-8", "backslashreplace")
    return value_mark(value)


def value_mark(value: bytes | str | None) -> str:
    if value is None:
        return "null"
    data = value.encode() if isinstance(value, str) else value
    if len(data) <= VALUE_BYTES_MAX:
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    return "sha256:" + hashlib.sha256(data).hexdigest()[:32]


def with_mark(headers: Headers | None, header: str, mark: str) -> list[Header]:
    """Of a record that is sent on, the mark of its former life goes."""
    return [*(each for each in _pairs(headers) if each[0] != header), (header, mark.encode())]


def _pairs(headers: Headers | None) -> Iterable[Header]:
    return headers.items() if isinstance(headers, dict) else headers or ()
