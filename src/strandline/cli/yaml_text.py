"""Plain values as YAML: mappings, lists, texts, numbers, booleans and null, in block style.

Enough for what commands print; there is no reader here, and no dependency. Texts that YAML could take for something
else are quoted as in JSON, which YAML understands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
NOT_PLAIN = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}


def yaml_lines(value: Any, indent: str = "") -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _entry(f"{indent}{_scalar(str(key))}:", each, indent + "  ")
    elif isinstance(value, list | tuple) and value:
        for each in value:
            lines = list(yaml_lines(each, indent + "  "))
            yield f"{indent}- {lines[0].lstrip(' ')}"
            yield from lines[1:]
    else:
        yield f"{indent}{_scalar(value)}"


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple) and value:
        yield head
        yield from yaml_lines(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in NOT_PLAIN:
        return value
    return json.dumps(value, ensure_ascii=False)
