r"""Records as text, by a format of kcat's and rpk's tokens.

%t topic       %o offset        %k key    %K its length      %d %T timestamp in milliseconds
%p partition   %e leader epoch  %v %s value  %V %S its length   %h headers  %H their number
%i count       %[ %| %]  log start offset, last stable offset, high watermark of the partition

%v{hex} %v{base64}                   bytes as text
%V{big32} %o{hex64} %K{little16} …   numbers as bytes or hexadecimal digits, as rpk has them
%d{strftime[%F %T]}                  a time, in UTC
%h{%k=%v }                           every header by a format of its own; without one: a=1,b=2
\n \t \r \\ \xNN   %% %{ %}
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from strandline.cli.output import EPOCH
from strandline.client.fetched import ConsumedRecord, FetchedPartition

ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\", b"0": b"\0"}
TOKEN = re.compile(r"%(.)", re.DOTALL)
NUMBER_FORM = re.compile(r"(hex|big|little)(4|8|16|32|64)")
STRFTIME = re.compile(r"strftime\[(.*)\]", re.DOTALL)
LITERALS = {"%": b"%", "{": b"{", "}": b"}"}


class BadFormat(ValueError):
    """One sentence about what is wrong with a format."""


class Shown(NamedTuple):
    """A record where it stands."""

    record: ConsumedRecord
    fetched: FetchedPartition
    number: int  # of those shown before it
    null_text: bytes = b""


Part = Callable[[Shown], bytes]

BYTES: dict[str, Callable[[Shown], bytes | None]] = {
    "t": lambda shown: shown.record.partition.topic.encode(),
    "k": lambda shown: shown.record.key,
    "v": lambda shown: shown.record.value,
    "s": lambda shown: shown.record.value,
}
NUMBERS: dict[str, Callable[[Shown], int]] = {
    "p": lambda shown: shown.record.partition.partition,
    "o": lambda shown: shown.record.offset,
    "e": lambda shown: shown.record.leader_epoch,
    "d": lambda shown: shown.record.timestamp,
    "T": lambda shown: shown.record.timestamp,
    "K": lambda shown: _length(shown.record.key),
    "V": lambda shown: _length(shown.record.value),
    "S": lambda shown: _length(shown.record.value),
    "H": lambda shown: len(shown.record.headers),
    "i": lambda shown: shown.number,
    "[": lambda shown: shown.fetched.log_start_offset,
    "|": lambda shown: shown.fetched.last_stable_offset,
    "]": lambda shown: shown.fetched.high_watermark,
}


def compile_format(text: str) -> Callable[[Shown], bytes]:
    parts: list[Part] = []
    position = 0
    while position < len(text):
        token = TOKEN.search(text, position)
        literal = text[position : token.start() if token else len(text)]
        if literal:
            parts.append(_constant(unescape(literal)))
        if token is None:
            if literal.endswith("%"):
                raise BadFormat("a format ends in a single %: write %% for the sign itself")
            break
        part, position = _token(text, token[1], token.end())
        parts.append(part)
    return lambda shown: b"".join([part(shown) for part in parts])


def unescape(text: str) -> bytes:
    r"""With `\n`, `\t`, `\r`, `\\`, `\0` and `\xNN` as what they stand for."""

    def meaning(match: re.Match[bytes]) -> bytes:
        if match[1].startswith(b"x"):
            return bytes([int(match[1][1:], 16)])
        return ESCAPES.get(match[1], match[0])

    return ESCAPE.sub(meaning, text.encode("utf-8", "surrogateescape"))


def _token(text: str, letter: str, position: int) -> tuple[Part, int]:
    if letter in LITERALS:
        return _constant(LITERALS[letter]), position
    modifier, position = _modifier(text, position)
    if letter == "h":
        return (_headers if modifier is None else _formatted_headers(modifier)), position
    if letter in BYTES:
        return _bytes_part(BYTES[letter], modifier), position
    if letter in NUMBERS:
        return _number_part(NUMBERS[letter], modifier), position
    raise BadFormat(f"%{letter} is not known: %t %p %o %k %v %d %h and others are, see --help")


def _modifier(text: str, position: int) -> tuple[str | None, int]:
    """What stands in braces after a token, which may hold braces itself."""
    if text[position : position + 1] != "{":
        return None, position
    depth = 0
    for end in range(position, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if depth == 0:
            return text[position + 1 : end], end + 1
    raise BadFormat(f"the brace in {text[position:]!r} is not closed")


def _constant(data: bytes) -> Part:
    return lambda _: data


def _bytes_part(get: Callable[[Shown], bytes | None], modifier: str | None) -> Part:
    if modifier in (None, "raw"):
        return lambda shown: _or_null(get(shown), shown)
    if modifier == "hex":
        return lambda shown: _or_null(get(shown), shown, lambda data: data.hex().encode())
    if modifier == "base64":
        return lambda shown: _or_null(get(shown), shown, b64encode)
    raise BadFormat(f"{{{modifier}}} is not known for bytes: hex and base64 are")


def _or_null(data: bytes | None, shown: Shown, form: Callable[[bytes], bytes] = bytes) -> bytes:
    return shown.null_text if data is None else form(data)


def _number_part(get: Callable[[Shown], int], modifier: str | None) -> Part:
    if modifier in (None, "ascii"):
        return lambda shown: b"%d" % get(shown)
    strftime = STRFTIME.fullmatch(modifier or "")
    if strftime:
        return lambda shown: _time(get(shown), strftime[1])
    form = NUMBER_FORM.fullmatch(modifier or "")
    if form is None or (form[2] == "4" and form[1] != "hex"):
        raise BadFormat(f"{{{modifier}}} is not known for numbers: ascii, hex32, big32, little16 … are")
    bits = int(form[2])
    if form[1] == "hex":
        return lambda shown: b"%0*x" % (bits // 4, get(shown) % 2**bits)
    if form[1] == "big":
        return lambda shown: (get(shown) % 2**bits).to_bytes(bits // 8, "big")
    return lambda shown: (get(shown) % 2**bits).to_bytes(bits // 8, "little")


def _time(timestamp_ms: int, form: str) -> bytes:
    try:
        return (EPOCH + timedelta(milliseconds=timestamp_ms)).strftime(form).encode()
    except (OverflowError, ValueError):
        return b"%d" % timestamp_ms


def _headers(shown: Shown) -> bytes:
    each = (key.encode("utf-8", "surrogateescape") + b"=" + (value or b"") for key, value in shown.record.headers)
    return b",".join(each)


def _formatted_headers(text: str) -> Part:
    form = compile_format(text)

    def all_of_them(shown: Shown) -> bytes:
        parts = []
        for key, value in shown.record.headers:
            named = shown.record._replace(key=key.encode("utf-8", "surrogateescape"), value=value)
            parts.append(form(shown._replace(record=named)))
        return b"".join(parts)

    return all_of_them


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)
