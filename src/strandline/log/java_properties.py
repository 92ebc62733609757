"""Java's `.properties` text: `key=value` lines, with `:` or a blank also separating, `#` and `!` starting
comments, a backslash at a line's end joining the next one, and escapes `\\t \\n \\r \\f \\u0041`.

Kafka reads such files as Latin-1; we write ASCII with escapes, which every reader understands alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from strandline.model.failures import CorruptData

KEY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
ESCAPE = re.compile(r"\\(u.{0,4}|.|$)", re.DOTALL)
CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
ESCAPED = {character: "\\" + letter for letter, character in CONTROLS.items()} | {
    character: "\\" + character for character in "\\=:#!"
}


def parse_properties(data: bytes) -> dict[str, str]:
    """Keys in file order; the last value of a key wins."""
    properties: dict[str, str] = {}
    for line in _logical_lines(data.decode("latin-1")):
        key = KEY.match(line)
        if key is not None:
            properties[_unescape(key[1])] = _unescape(line[key.end() :])
    return properties


def format_properties(properties: Mapping[str, str], comments: Iterable[str] = ()) -> bytes:
    lines = [f"#{comment}" for comment in comments]
    lines += [f"{_escape(key, blanks=True)}={_escape(value)}" for key, value in properties.items()]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with continuations joined; without comments, blank lines and leading blanks."""
    joined = ""
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not joined and (not line or line[0] in "#!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2 == 1:
            joined += line[:-1]
            continue
        yield joined + line
        joined = ""
    if joined:
        yield joined


def _unescape(text: str) -> str:
    units = ESCAPE.sub(lambda match: _meaning(match[1]), text).encode("utf-16-be", "surrogatepass")
    return units.decode("utf-16-be", "replace")  # two escapes make one character outside the basic plane


def _meaning(escape: str) -> str:
    if not escape.startswith("u"):
        return CONTROLS.get(escape, escape)
    if not re.fullmatch(r"u[0-9a-fA-F]{4}", escape):
        raise CorruptData(f"{escape!r} after a backslash is not u and four hexadecimal digits")
    return chr(int(escape[1:], 16))


def _escape(text: str, *, blanks: bool = False) -> str:
    escaped = "".join(ESCAPED.get(character) or _ascii(character) for character in text)
    if blanks:
        return escaped.replace(" ", "\\ ")
    return "\\" + escaped if escaped.startswith(" ") else escaped


def _ascii(character: str) -> str:
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[index]:02X}{units[index + 1]:02X}" for index in range(0, len(units), 2))
