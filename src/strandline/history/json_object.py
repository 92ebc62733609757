"""The JSON object of a line.

A name that is written twice is refused: JSON leaves open which of the two counts, and Python takes the last.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from typing import Any

from strandline.model.failures import CorruptData


class NotJson(CorruptData):
    """No beginning of an object is one itself: a last line of this kind may be what a killed process wrote of it."""


def json_object(line: str | bytes) -> dict[str, Any]:
    try:
        text = line if isinstance(line, str) else line.removeprefix(BOM_UTF8).decode("utf-8", "surrogatepass")
        fields = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise NotJson(f"is not JSON: {error.msg} at character {error.pos + 1}") from None
    except UnicodeDecodeError:
        raise NotJson("is not JSON: it is not UTF-8") from None
    except (ValueError, RecursionError):
        raise CorruptData("is not an operation: it is nested too deep, or a number has too many digits") from None
    if type(fields) is not dict:
        raise CorruptData("is not an operation: it must be a JSON object")
    return fields


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise CorruptData(f"has the field {twice[:40]!r} twice: nobody knows which counts")
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_object_of)
