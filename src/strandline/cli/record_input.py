r"""Records from a stream of bytes: one on each line, cut into key and value if wanted, or by a format.

A format has kcat's and rpk's tokens with text between them: `%k %v\n`, `%p|%d|%k|%v{hex}\n`. What follows the last
token ends a record. `%k %v %p %d` (also %s and %T) may stand in it, `{hex}` and `{base64}` after the first two.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Callable, Iterator

from strandline.cli.record_format import BadFormat, unescape
from strandline.cli.record_json import BadRecordLine, RecordLine, parse_record
from strandline.model.lazy_dataclass import dataclass
from strandline.records.record import Headers

TOKEN = re.compile(r"%(?P<letter>.)(\{(?P<modifier>[a-z0-9]*)\})?", re.DOTALL)
FIELDS = {"k": "key", "v": "value", "s": "value", "p": "partition", "d": "timestamp", "T": "timestamp"}
DECODERS: dict[str | None, Callable[[bytes], bytes]] = {
    None: bytes,
    "hex": lambda data: bytes.fromhex(data.decode()),
    "base64": lambda data: b64decode(data, validate=True),
}

Parse = Callable[[bytes], RecordLine]


@dataclass(frozen=True, slots=True)
class InputShape:
    """How the bytes of one record become one; `delimiter` ends each."""

    delimiter: bytes
    parse: Parse


def json_shape() -> InputShape:
    return InputShape(b"\n", parse_record)


def line_shape(delimiter: bytes, key_delimiter: bytes | None) -> InputShape:
    def parse(line: bytes) -> RecordLine:
        if key_delimiter is None:
            return RecordLine(None, line, (), None, None)
        key, found, value = line.partition(key_delimiter)
        if not found:
            raise BadRecordLine(f"it has no {key_delimiter.decode('utf-8', 'replace')!r} between key and value")
        return RecordLine(key, value, (), None, None)

    return InputShape(delimiter, parse)


def format_shape(text: str) -> InputShape:
    tokens = list(TOKEN.finditer(text))
    if not tokens:
        raise BadFormat(f"{text!r} has no token such as %k or %v")
    pattern, position = b"", 0
    decoders = {}
    for number, token in enumerate(tokens):
        if token["letter"] not in FIELDS:
            raise BadFormat(f"%{token['letter']} cannot be read: %k %v %p and %d can")
        if token["modifier"] not in DECODERS:
            raise BadFormat(f"{{{token['modifier']}}} is not known: hex and base64 are")
        between = unescape(text[position : token.start()])
        if number and not between:
            raise BadFormat(f"{text!r} has two tokens with nothing between them")
        name = FIELDS[token["letter"]]
        if name in decoders:
            raise BadFormat(f"{text!r} has the {name} twice")
        decoders[name] = DECODERS[token["modifier"]]
        pattern += re.escape(between) + f"(?P<{name}>.*{'' if number == len(tokens) - 1 else '?'})".encode()
        position = token.end()
    delimiter = unescape(text[position:]) or b"\n"
    return InputShape(delimiter, _parser_of(re.compile(pattern, re.DOTALL), decoders, text))


def _parser_of(pattern: re.Pattern[bytes], decoders: dict[str, Callable[[bytes], bytes]], text: str) -> Parse:
    def parse(line: bytes) -> RecordLine:
        match = pattern.fullmatch(line)
        if match is None:
            raise BadRecordLine(f"it does not fit the format {text!r}")
        try:
            found = {name: decode(match[name]) for name, decode in decoders.items()}
            timestamp, partition = (int(found[name]) if name in found else None for name in ("timestamp", "partition"))
        except (ValueError, BadBase64) as error:
            raise BadRecordLine(f"it does not fit the format {text!r}: {error}") from None
        return RecordLine(found.get("key"), found.get("value"), (), timestamp, partition)

    return parse


class RecordInput:
    """Cuts chunks of a stream into records, whatever the size of the chunks."""

    def __init__(self, shape: InputShape, record_bytes_max: int) -> None:
        self.shape = shape
        self.record_bytes_max = record_bytes_max
        self.number = 0  # of the records so far
        self._rest = b""

    def records(self, chunk: bytes) -> Iterator[RecordLine]:
        *whole, self._rest = (self._rest + chunk).split(self.shape.delimiter)
        for line in whole:
            yield self._parse(line)
        if len(self._rest) > self.record_bytes_max:
            self.number += 1
            raise BadRecordLine(
                f"record {self.number} is longer than max.request.size={self.record_bytes_max}:"
                " raise it with -X max.request.size=N, and max.message.bytes of the topic with it"
            )

    def last(self) -> Iterator[RecordLine]:
        """What the stream ended with, if that was not a delimiter."""
        if self._rest:
            yield self._parse(self._rest)
            self._rest = b""

    def _parse(self, line: bytes) -> RecordLine:
        self.number += 1
        try:
            return self.shape.parse(line)
        except BadRecordLine as error:
            raise BadRecordLine(f"record {self.number} of the input: {error}") from None


def with_constants(
    record: RecordLine, key: bytes | None, headers: Headers, partition: int | None, empty_is_null: bool
) -> RecordLine:
    """What the options say about every record."""
    value = None if empty_is_null and not record.value else record.value
    return RecordLine(
        record.key if key is None else key,
        value,
        record.headers + headers,
        record.timestamp_ms,
        record.partition if partition is None else partition,
    )
