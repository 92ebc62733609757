"""`/brokers/ids/<id>`: how a broker says that it lives and where. The zxid that made the znode is the broker's epoch.

    version 1   host, port, jmx_port, timestamp: one plain-text listener
    version 2   endpoints, as LISTENER://host:port; a listener is named for its protocol
    version 3   rack
    version 4   listener_security_protocol_map: listeners have names of their own (KIP-103)
    version 5   features, with the versions the broker supports (KIP-584)

Version 5 is written. `host` and `port` stay in it for clients of version 1: the first plain-text listener, or null
and -1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field

from strandline.metadata import paths
from strandline.metadata.json_values import JsonObject, encode_json
from strandline.metadata.values import NO_TIME
from strandline.model.failures import CorruptData
from strandline.model.lazy_dataclass import dataclass

VERSION = 5
NO_PORT = -1
PLAINTEXT = "PLAINTEXT"
SECURITY_PROTOCOLS = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ENDPOINT = re.compile(r"(?P<listener>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Endpoint:
    listener: str
    security_protocol: str
    host: str  # empty for every address of the machine
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class VersionRange:
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    broker_id: int
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    features: Mapping[str, VersionRange] = field(default_factory=dict)
    jmx_port: int = NO_PORT
    timestamp_ms: int = NO_TIME


def encode_broker(broker: BrokerRegistration) -> bytes:
    plain = next((endpoint for endpoint in broker.endpoints if endpoint.security_protocol == PLAINTEXT), None)
    rack = {} if broker.rack is None else {"rack": broker.rack}
    return encode_json(
        {
            "features": {
                name: {"min_version": supported.min_version, "max_version": supported.max_version}
                for name, supported in sorted(broker.features.items())
            },
            "listener_security_protocol_map": {
                endpoint.listener: endpoint.security_protocol for endpoint in broker.endpoints
            },
            "endpoints": [str(endpoint) for endpoint in broker.endpoints],
        }
        | rack
        | {
            "jmx_port": broker.jmx_port,
            "port": NO_PORT if plain is None else plain.port,
            "host": None if plain is None else plain.host or None,
            "version": VERSION,
            "timestamp": str(broker.timestamp_ms),
        }
    )


def decode_broker(broker_id: int, data: bytes) -> BrokerRegistration:
    where = paths.broker_path(broker_id)
    found = JsonObject.parse(where, data)
    version = found.integer("version")
    if version < 1:
        raise CorruptData(f"{where} has version {version}, which nobody wrote")
    timestamp_ms = found.optional(found.number_in_text, "timestamp")
    return BrokerRegistration(
        broker_id,
        _plain_endpoint(found) if version == 1 else _endpoints(where, found),
        found.optional(found.text, "rack"),
        _features(found.optional(found.nested, "features")),
        found.integer("jmx_port"),
        NO_TIME if timestamp_ms is None else timestamp_ms,
    )


def _plain_endpoint(found: JsonObject) -> tuple[Endpoint, ...]:
    return (Endpoint(PLAINTEXT, PLAINTEXT, found.text("host"), found.integer("port")),)


def _endpoints(where: str, found: JsonObject) -> tuple[Endpoint, ...]:
    named = found.optional(found.nested, "listener_security_protocol_map")
    protocols = {protocol: protocol for protocol in SECURITY_PROTOCOLS}
    if named is not None:
        protocols = {listener.upper(): named.text(listener).upper() for listener in named}
    return tuple(_endpoint(where, text, protocols) for text in found.texts("endpoints"))


def _endpoint(where: str, text: str, protocols: Mapping[str, str]) -> Endpoint:
    match = ENDPOINT.fullmatch(text)
    if match is None:
        raise CorruptData(f"{where} has {text[:200]!r} for an endpoint")
    listener = match["listener"].upper()
    protocol = protocols.get(listener)
    if protocol not in SECURITY_PROTOCOLS:
        raise CorruptData(f"{where} has the listener {listener[:80]!r} with the security protocol {protocol!r}")
    return Endpoint(listener, protocol, match["host"], int(match["port"]))


def _features(found: JsonObject | None) -> dict[str, VersionRange]:
    if found is None:
        return {}
    ranges = {name: found.nested(name) for name in found}
    return {
        name: VersionRange(supported.integer("min_version"), supported.integer("max_version"))
        for name, supported in ranges.items()
    }
