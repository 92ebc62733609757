"""`/config`: the settings of topics, clients, users, brokers and addresses, and the notices that one of them changed.

A notice only says whose settings to read again. Version 2 names the entity by its path below `/config`, for example
`users/alice/clients/app`; version 1, before 0.10.1, by its type and its name.
"""

from __future__ import annotations

from collections.abc import Mapping

from strandline.metadata import paths
from strandline.metadata.json_values import JsonObject, encode_json
from strandline.model.failures import CorruptData


def encode_config(settings: Mapping[str, str]) -> bytes:
    return encode_json({"version": 1, "config": dict(sorted(settings.items()))})


def decode_config(entity_path: str, data: bytes) -> dict[str, str]:
    """A node without data is an entity without settings: `/config/users/alice`, made as the parent of another."""
    if not data:
        return {}
    found = JsonObject.parse(paths.config_path(entity_path), data)
    config = found.optional(found.nested, "config")
    return {} if config is None else {name: config.text(name) for name in config}


def encode_config_change(entity_path: str) -> bytes:
    return encode_json({"version": 2, "entity_path": entity_path})


def decode_config_change(data: bytes) -> str:
    """The entity's path."""
    found = JsonObject.parse(paths.CONFIG_CHANGES, data)
    version = found.integer("version")
    if version == 1:
        path = f"{found.text('entity_type')}/{found.text('entity_name')}"
    elif version == 2:
        path = found.text("entity_path")
    else:
        raise CorruptData(f"{paths.CONFIG_CHANGES} has a notice of version {version}, and 1 and 2 are known")
    config_type, slash, entity = path.partition("/")
    if config_type not in paths.CONFIG_TYPES or not slash or not entity:
        raise CorruptData(f"{paths.CONFIG_CHANGES} has a notice of {path[:200]!r}, which is no entity")
    return path
