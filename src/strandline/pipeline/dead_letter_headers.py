"""What a dead letter says of itself, in headers: Kafka Connect's, which are written; and those that others write.

    __connect.errors.topic, .partition, .offset       where the record was
    __connect.errors.connector.name                   the pipeline that could not use it
    __connect.errors.stage                            VALUE_CONVERTER: it could not be read; TRANSFORMATION: a rule
    __connect.errors.exception.class.name, .message   what was wrong

Spring's (`kafka_dlt-…`, with numbers as bytes) and `x-original-…` are read, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from strandline.records.record import Headers

CONNECT = "__connect.errors."
TOPIC = CONNECT + "topic"
PARTITION = CONNECT + "partition"
OFFSET = CONNECT + "offset"
PIPELINE = CONNECT + "connector.name"
STAGE = CONNECT + "stage"
ERROR = CONNECT + "exception.class.name"
MESSAGE = CONNECT + "exception.message"
PARSING = "VALUE_CONVERTER"
EXPECTING = "TRANSFORMATION"

SPRING = "kafka_dlt-"
OTHER = "x-original-"
REDRIVEN_FROM = "strandline.redriven.from"  # on a record that was sent again: which dead letter it was

NAMES = {
    "topic": (TOPIC, SPRING + "original-topic", OTHER + "topic"),
    "partition": (PARTITION, SPRING + "original-partition", OTHER + "partition"),
    "offset": (OFFSET, SPRING + "original-offset", OTHER + "offset"),
    "pipeline": (PIPELINE, SPRING + "original-consumer-group"),
    "stage": (STAGE,),
    "error": (ERROR, SPRING + "exception-fqcn", "x-exception-fqcn"),
    "message": (MESSAGE, SPRING + "exception-message", "x-exception-message"),
}


@dataclass(frozen=True, slots=True)
class Origin:
    topic: str | None
    partition: int | None
    offset: int | None
    pipeline: str | None
    stage: str | None
    error: str | None
    message: str | None


def origin_of(headers: Headers) -> Origin:
    """The last of several headers with one name counts: a record may have died more than once."""
    found = dict(headers)
    texts = {field: _first(found, names) for field, names in NAMES.items()}
    return Origin(
        _text(texts["topic"]),
        _number(texts["partition"]),
        _number(texts["offset"]),
        *(_text(texts[field]) for field in ("pipeline", "stage", "error", "message")),
    )


def without_errors(headers: Headers) -> Headers:
    """Those that the record had before it died."""
    return tuple(pair for pair in headers if not pair[0].startswith((CONNECT, SPRING, OTHER, "x-exception-")))


def _first(found: dict[str, bytes | None], names: tuple[str, ...]) -> tuple[str, bytes] | None:
    for name in names:
        value = found.get(name)
        if value is not None:
            return name, value
    return None


def _text(found: tuple[str, bytes] | None) -> str | None:
    return None if found is None else found[1].decode("utf-8", "replace")


def _number(found: tuple[str, bytes] | None) -> int | None:
    if found is None:
        return None
    name, value = found
    if name.startswith(SPRING) and len(value) in (4, 8):
        return int.from_bytes(value, "big", signed=True)
    try:
        return int(value)
    except ValueError:
        return None
