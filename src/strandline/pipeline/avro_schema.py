"""An Avro schema as Spark's DDL: the columns that records of it have.

Unions other than that of null and one type have no column type in Spark and are refused; name the type you want by
giving the reader a schema without them.
"""

from __future__ import annotations

import json
from typing import Any

from strandline.pipeline.failures import BadPipeline

SIMPLE = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
}
LOGICAL = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz",
    "local-timestamp-micros": "timestamp_ntz",
    "uuid": "string",
}
DEPTH_MAX = 32  # a schema that contains itself has no end


def ddl_of_avro(text: str) -> str:
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise BadPipeline(f"the schema is not JSON: {error}") from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise BadPipeline("the schema is not of a record, which has columns: its type must be record")
    return ", ".join(f"`{name}` {type_name}" for name, type_name in _fields(schema, {}, 0))


def _fields(schema: dict[str, Any], named: dict[str, Any], depth: int) -> list[tuple[str, str]]:
    fields = schema.get("fields")
    if not isinstance(fields, list) or not all(isinstance(each, dict) and "name" in each for each in fields):
        raise BadPipeline(f"the record {schema.get('name', '?')} has no list of fields with names")
    named[str(schema.get("name"))] = schema
    return [(str(each["name"]), _type(each.get("type"), named, depth + 1, str(each["name"]))) for each in fields]


def _type(schema: Any, named: dict[str, Any], depth: int, field: str) -> str:
    if depth > DEPTH_MAX:
        raise BadPipeline(f"the type of {field} contains itself, which Spark has no column for")
    if isinstance(schema, list):
        kinds = [each for each in schema if each != "null"]
        if len(kinds) != 1:
            raise BadPipeline(f"{field} is one of several types, which Spark has no column for")
        return _type(kinds[0], named, depth, field)
    if isinstance(schema, str):
        if schema in named:
            return _type(named[schema], named, depth + 1, field)
        if schema not in SIMPLE:
            raise BadPipeline(f"{field} has the type {schema!r}, which is not in the schema")
        return SIMPLE[schema]
    if not isinstance(schema, dict):
        raise BadPipeline(f"{field} has no type")
    return _complex(schema, named, depth, field)


def _complex(schema: dict[str, Any], named: dict[str, Any], depth: int, field: str) -> str:
    kind = schema.get("type")
    if schema.get("logicalType") == "decimal":
        return f"decimal({schema.get('precision', 38)},{schema.get('scale', 0)})"
    if schema.get("logicalType") in LOGICAL:
        return LOGICAL[schema["logicalType"]]
    if kind == "record":
        inner = _fields(schema, named, depth)
        return "struct<" + ",".join(f"`{name}`:{type_name}" for name, type_name in inner) + ">"
    if kind in ("enum", "fixed"):
        named[str(schema.get("name"))] = {"type": "string" if kind == "enum" else "bytes"}
        return "string" if kind == "enum" else "binary"
    if kind == "array":
        return f"array<{_type(schema.get('items'), named, depth + 1, field)}>"
    if kind == "map":
        return f"map<string,{_type(schema.get('values'), named, depth + 1, field)}>"
    return _type(kind, named, depth + 1, field)
