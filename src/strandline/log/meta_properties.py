"""`meta.properties`, in the root of each log directory: whose directory it is (SPEC L8).

Version 0 is a ZooKeeper cluster's (`broker.id`, `cluster.id`, both may still be missing), version 1 KRaft's
(`node.id`, `cluster.id`). Either may name the directory (`directory.id`, KIP-858). Other keys are kept as
they are on rewriting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from uuid import UUID

from strandline.log.java_properties import format_properties, parse_properties
from strandline.model.failures import CorruptData
from strandline.model.ids import decode_id, encode_id
from strandline.model.lazy_dataclass import dataclass

META_PROPERTIES = "meta.properties"
NODE_ID_KEYS = {0: "broker.id", 1: "node.id"}
WHOLE_NUMBER = re.compile(r"-?[0-9]{1,10}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    version: int = 0
    node_id: int | None = None
    cluster_id: str | None = None
    directory_id: UUID | None = None
    others: dict[str, str] = field(default_factory=dict)


def decode_meta_properties(data: bytes) -> MetaProperties:
    values = parse_properties(data)
    version = _number("version", values.pop("version", "0"))
    if version not in NODE_ID_KEYS:
        raise CorruptData(f"meta.properties has version {version}, which is neither 0 nor 1")
    node_id = values.pop(NODE_ID_KEYS[version], None)
    cluster_id = values.pop("cluster.id", None)
    directory_id = values.pop("directory.id", None)
    if version == 1 and (node_id is None or cluster_id is None):
        raise CorruptData("meta.properties of version 1 needs node.id and cluster.id")
    return MetaProperties(
        version=version,
        node_id=None if node_id is None else _number(NODE_ID_KEYS[version], node_id),
        cluster_id=cluster_id,
        directory_id=None if directory_id is None else decode_id(directory_id),
        others=values,
    )


def encode_meta_properties(properties: MetaProperties, comments: Iterable[str] = ("",)) -> bytes:
    """In the order in which Kafka on Java 17 writes it. Kafka's comments are an empty one and the date."""
    directory_id = None if properties.directory_id is None else encode_id(properties.directory_id)
    values = {
        NODE_ID_KEYS[properties.version]: None if properties.node_id is None else str(properties.node_id),
        "directory.id": directory_id,
        "version": str(properties.version),
        "cluster.id": properties.cluster_id,
    }
    known = {key: value for key, value in values.items() if value is not None}
    return format_properties(known | properties.others, comments)


def _number(key: str, text: str) -> int:
    if not WHOLE_NUMBER.fullmatch(text.strip()):
        raise CorruptData(f"meta.properties has {key}={text[:80]!r}, which is not a number")
    return int(text)
