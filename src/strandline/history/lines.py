"""Operations as lines of JSON; docs/history.md is the format.

A line that breaks it is `CorruptData`, and nothing else. Fields that nobody knows are left alone, so that a recorder
may note more than is checked; but for those that look like one of ours that is not there (`field_names`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from strandline.history.field_names import FIELDS, misspelt
from strandline.history.json_object import json_object
from strandline.history.operations import (
    BEGINNING,
    END,
    Assign,
    Begin,
    Client,
    Commit,
    Decision,
    End,
    How,
    Isolation,
    Operation,
    Outcome,
    Poll,
    Record,
    Revoke,
    Send,
    Trim,
)
from strandline.model.failures import CorruptData
from strandline.model.partitions import TopicPartition

Fields = Mapping[str, Any]
Stamp = tuple[int, str, Outcome, int, int]
T = TypeVar("T")
Word = TypeVar("Word", bound=StrEnum)

NAMED_POSITIONS: dict[str, int] = {"beginning": BEGINNING, "end": END}
ACKS = {"all": -1, "-1": -1, "0": 0, "1": 1}
ROWS = {
    "records": ("topic", "partition", "offset", "value"),
    "positions": ("topic", "partition", "position"),
    "offsets": ("topic", "partition", "offset"),
    "partitions": ("topic", "partition"),
}
NOT_KNOWN = (-1000, -1001)  # librdkafka's: where the group is, and nowhere
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
SHOWN_MAX = 40  # characters of a value that is refused


def _words(enumeration: type[Word]) -> dict[str, Word]:
    return {word.value: word for word in enumeration}


OUTCOMES = {**_words(Outcome), "info": Outcome.UNKNOWN}  # info is Jepsen's word
HOWS, DECISIONS, ISOLATIONS = _words(How), _words(Decision), _words(Isolation)


class _Wrong(Exception):
    """What is wrong with a field, as a sentence for whoever wrote it."""


class LineParser:
    """Gives equal names the same object: a history names few partitions and processes, very often."""

    def __init__(self) -> None:
        self._partitions: dict[tuple[str, int], TopicPartition] = {}
        self._names: dict[str, str] = {}
        self._clients: dict[str, Client] = {}
        self._told_idempotence: set[str] = set()  # processes that said whether they are idempotent

    def operation(self, line: str | bytes, number: int) -> Operation:
        """`number` is the line's, from 1 and over all files: anomalies name operations by it."""
        fields = json_object(line)
        try:
            return _parser_of(fields)(self, fields, number)
        except KeyError as error:
            raise CorruptData(f"lacks the field {error}") from None
        except _Wrong as error:
            raise CorruptData(f"is not an operation: {error}") from None
        except (ValueError, TypeError, RecursionError):
            raise CorruptData(f"is not an operation: {_complaint(fields)}") from None

    def stamp(self, fields: Fields, number: int) -> Stamp:
        """Without times an operation takes none, at the moment of its line."""
        began_us = _whole(fields.get("began_us", number))
        ended_us = _whole(fields.get("ended_us", began_us))
        if ended_us < began_us:
            raise _Wrong("it ended before it began")
        return number, self.name(fields["process"]), _one_of(OUTCOMES, fields.get("outcome", "ok")), began_us, ended_us

    def name(self, name: Any) -> str:
        known = self._names.get(_text(name))
        return known if known is not None else self._names.setdefault(name, name)

    def transaction(self, fields: Fields) -> str | None:
        name = fields.get("transaction")
        return None if name is None else self.name(name)

    def partition(self, topic: Any, partition: Any) -> TopicPartition:
        known = self._partitions.get((_text(topic), _natural(partition)))
        if known is None:
            known = TopicPartition(self.name(topic), partition)
            self._partitions[known] = known
        return known

    def offsets(self, entries: Any, none: tuple[int, ...] = ()) -> tuple[tuple[TopicPartition, int], ...]:
        """Without those that say that there is none."""
        return tuple(
            (self.partition(topic, partition), _natural(offset))
            for topic, partition, offset in _rows(entries)
            if offset not in none
        )

    def client(self, fields: Fields, number: int) -> Client:
        """A process that is producer and consumer tells of both: what a line leaves out stays as it was."""
        process = self.name(fields["process"])
        told = {field: read(fields[name]) for name, (field, read) in CLIENT_FIELDS.items() if name in fields}
        known = self._clients.get(process, Client(number, process))
        is_producer, is_consumer = (not names.isdisjoint(fields) for names in (PRODUCER_FIELDS, CONSUMER_FIELDS))
        self._clients[process] = known._replace(
            number=number,
            tells_of_producer=is_producer or not is_consumer,
            tells_of_consumer=is_consumer or not is_producer,
            **told,
        )
        if "idempotent" in fields:
            self._told_idempotence.add(process)
        return self._clients[process] if process in self._told_idempotence else _as_kafka_can(self._clients[process])

    def send(self, fields: Fields, number: int) -> Send:
        topic, partition, offset = self.name(fields["topic"]), fields.get("partition"), fields.get("offset")
        send = Send(
            *self.stamp(fields, number),
            topic,
            None if partition is None else self.partition(topic, partition),
            _text(fields["value"]),
            None if offset is None else _natural(offset),
            self.transaction(fields),
        )
        if partition is None and send.outcome is Outcome.OK:
            raise CorruptData("lacks the field 'partition': a send that happened has one")
        return send

    def poll(self, fields: Fields, number: int) -> Poll:
        records = tuple(
            Record(self.partition(topic, partition), _natural(offset), _text(value))
            for topic, partition, offset, value in _rows(fields["records"])
        )
        return Poll(*self.stamp(fields, number), records, self.transaction(fields))

    def assign(self, fields: Fields, number: int) -> Assign:
        stamp, how = self.stamp(fields, number), _one_of(HOWS, fields.get("how", "assign"))
        told = _rows(fields.get("positions", []) if how is How.SUBSCRIBE else fields["positions"])
        positions = tuple(
            (self.partition(topic, partition), _position(position)) for topic, partition, position in told
        )
        return Assign(*stamp, how, positions)

    def revoke(self, fields: Fields, number: int) -> Revoke:
        named = fields.get("partitions")
        partitions = None if named is None else tuple(self.partition(*row) for row in _rows(named))
        return Revoke(*self.stamp(fields, number), partitions)

    def commit(self, fields: Fields, number: int) -> Commit:
        stamp, group = self.stamp(fields, number), self.name(fields["group"])
        return Commit(*stamp, group, self.offsets(fields["offsets"], NOT_KNOWN), self.transaction(fields))

    def begin(self, fields: Fields, number: int) -> Begin:
        return Begin(*self.stamp(fields, number), self.name(fields["transaction"]))

    def end(self, fields: Fields, number: int) -> End:
        stamp, transaction = self.stamp(fields, number), self.name(fields["transaction"])
        return End(*stamp, transaction, _one_of(DECISIONS, fields["decision"]))

    def trim(self, fields: Fields, number: int) -> Trim:
        return Trim(*self.stamp(fields, number), self.offsets(fields["offsets"]))


PARSERS: dict[str, Callable[[LineParser, Fields, int], Operation]] = {
    "client": LineParser.client,
    "send": LineParser.send,
    "poll": LineParser.poll,
    "assign": LineParser.assign,
    "revoke": LineParser.revoke,
    "commit": LineParser.commit,
    "begin": LineParser.begin,
    "end": LineParser.end,
    "trim": LineParser.trim,
}
CLIENT_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "acks": ("acks", lambda value: _one_of(ACKS, str(value))),
    "idempotent": ("is_idempotent", lambda value: _truth(value)),
    "isolation": ("isolation", lambda value: _one_of(ISOLATIONS, value)),
    "group": ("group", lambda value: _text(value)),
    "auto_commit": ("commits_by_itself", lambda value: _truth(value)),
    "clock": ("clock", lambda value: _text(value)),
}
PRODUCER_FIELDS = {"acks", "idempotent"}
CONSUMER_FIELDS = {"isolation", "group", "auto_commit"}


def line_of(op: str, **fields: Any) -> bytes:
    """One line, with its end. What is None is left out."""
    told = {"op": op, **{name: value for name, value in fields.items() if value is not None}}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace") + b"\n"


def _as_kafka_can(client: Client) -> Client:
    """An idempotent producer has acks=all: whoever has not, and never said that it is one, is none."""
    is_none = client.tells_of_producer and client.acks != -1
    return client._replace(is_idempotent=False) if is_none else client


def _parser_of(fields: Fields) -> Callable[[LineParser, Fields, int], Operation]:
    if "op" not in fields:
        raise CorruptData("has no field 'op'")
    parser = PARSERS.get(fields["op"]) if type(fields["op"]) is str else None
    if parser is None:
        raise CorruptData(f"has an unknown op {str(fields['op'])[:40]!r}: known are {', '.join(PARSERS)}")
    if not fields.keys() <= FIELDS[fields["op"]]:
        _refuse_misspelt(fields)
    return parser


def _refuse_misspelt(fields: Fields) -> None:
    found = misspelt(fields["op"], tuple(fields))
    if found is not None:
        written, meant = found
        raise CorruptData(f"has a field {written!r}, which nobody knows: did you mean {meant!r}?")


def _complaint(fields: Fields) -> str:
    """Rows are taken apart without a look at them, which costs nothing as long as they are right."""
    for name, columns in ROWS.items():
        rows = fields.get(name, [])
        if type(rows) is not list or any(type(row) is not list or len(row) != len(columns) for row in rows):
            return f"its {name!r} must be a list of [{', '.join(columns)}]"
    return "its fields are not as docs/history.md says"


def _shown(value: Any) -> str:
    """As it stands in the line, or begins there."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def _one_of(known: Mapping[str, T], word: Any) -> T:
    if type(word) is not str or word not in known:
        raise _Wrong(f"{_shown(word)} is none of {', '.join(known)}")
    return known[word]


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise _Wrong(f"{_shown(value)} is not a whole number")
    if not INT64_MIN <= value <= INT64_MAX:
        raise _Wrong("a number has more than 64 bits")
    return value


def _natural(value: Any) -> int:
    """A client's -1 says that it does not know, and is nobody's offset."""
    number = _whole(value)
    if number < 0:
        raise _Wrong(f"{number} is less than 0: where a partition or an offset is not known, leave it out")
    return number


def _rows(value: Any) -> list[Any]:
    """An empty text or object has no rows either, and is none."""
    if type(value) is not list:
        raise TypeError(value)
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise _Wrong(f"{_shown(value)} is not a text")
    return value


def _truth(value: Any) -> bool:
    """The text "false" would be true to Python."""
    if type(value) is not bool:
        raise _Wrong(f"{_shown(value)} is neither true nor false, as JSON has them")
    return value


def _position(value: Any) -> int | None:
    """By Kafka's own numbers, or a name for one."""
    if value is None:
        return None
    if type(value) is not int:
        return _one_of(NAMED_POSITIONS, value)
    number = _whole(value)
    if number < 0 and number not in (*NAMED_POSITIONS.values(), *NOT_KNOWN):
        raise _Wrong(f"{number} is no position: give an offset, 'beginning', 'end', or null where it is not known")
    return None if number in NOT_KNOWN else number
