"""The JSON object of a line.

A name that is written twice is refused: JSON leaves open which of the two counts, and Python takes the last.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections import Counter
from typing import Any

from strandline.model.failures import CorruptData

AFTER_AN_OBJECT = "Extra data"  # Python's name for it


class NotJson(CorruptData):
    """No beginning of an object is one itself: a last line of this kind may be what a killed process wrote of it."""


def json_object(line: str | bytes) -> dict[str, Any]:
    try:
        text = line if isinstance(line, str) else line.removeprefix(BOM_UTF8).decode("utf-8", "surrogatepass")
        fields = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        complaint = f"is not JSON: {error.msg} at character {error.pos + 1}"
        if error.msg == AFTER_AN_OBJECT:  # which nobody leaves who is killed while he writes one
            raise CorruptData(
                f"{complaint}: each operation has a line of its own, which ends with a line feed"
            ) from None
        raise NotJson(complaint) from None
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
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise CorruptData(f"has the field {twice[:40]!r} twice: nobody knows which counts")
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_object_of)
