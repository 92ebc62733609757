"""Avro values read in Spark's workers, through fastavro: Spark's own reader of Avro is a jar that PySpark lacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

from strandline.model.extras import how_to_install
from strandline.pipeline.failures import BadPipeline

FRAME_BYTES = 5  # a zero, and four bytes that number the schema
Read = Callable[[bytes | None], tuple[Any, str | None]]


def avro_reader(schema_json: str, is_framed: bool) -> Read:
    """Gives what was read, and what was wrong; one of them is None. For a worker: it has all it needs in itself."""
    try:
        import fastavro
    except ImportError:
        raise BadPipeline(f"fastavro is not installed: {how_to_install('spark')}") from None
    fastavro.parse_schema(json.loads(schema_json))

    def read(value: bytes | None) -> tuple[Any, str | None]:
        from fastavro import parse_schema, schemaless_reader

        if value is None:
            return None, None
        if is_framed and (len(value) < FRAME_BYTES or value[0] != 0):
            return None, "the value does not begin with the five bytes of a schema registry"
        stream = BytesIO(bytes(value[FRAME_BYTES:] if is_framed else value))
        if "schema" not in parsed:
            parsed["schema"] = parse_schema(json.loads(schema_json))
        try:
            found = schemaless_reader(stream, parsed["schema"], None)
        except Exception as error:  # fastavro tells of bad bytes in many ways
            return None, f"the value is not Avro of the schema: {type(error).__name__} {error}"
        rest = len(stream.read())
        return (found, None) if not rest else (None, f"the value goes on for {rest} bytes after the record's end")

    parsed: dict[str, Any] = {}
    return read
