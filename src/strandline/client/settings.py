"""Settings of a client by Kafka's names and with Kafka's defaults, unless a comment says otherwise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import NamedTuple, Self

from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import INT_MAX, MINUTE_MS, BadSetting, PropertySettings, property_name, setting

ADDRESS = re.compile(
    r"(?:[A-Za-z_]+://)?(?:\[(?P<ipv6>[0-9A-Fa-f:.]+)\]|(?P<host>[^:/\s\[\]]+))(?::(?P<port>[0-9]{1,5}))?"
)
DEFAULT_PORT = 9092

# Known to other clients, and without meaning here: the sentence says why.
LISTED = "docs/commands.md"
ELSEWHERE = {
    "ssl.truststore.password": "key stores of Java are not read here: set ssl.truststore.type to PEM",
    "ssl.keystore.password": "key stores of Java are not read here: set ssl.keystore.type to PEM",
    "key.serializer": "keys and values are bytes here",
    "value.serializer": "keys and values are bytes here",
    "key.deserializer": "keys and values are bytes here",
    "value.deserializer": "keys and values are bytes here",
    "transactional.id": "transactions are not written from here",
}


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings(PropertySettings):
    bootstrap_servers: tuple[str, ...] = setting(("localhost:9092",))
    client_id: str = setting("strandline")

    # Connections
    socket_connection_setup_timeout_ms: int = setting(10_000, at_least=1, at_most=INT_MAX)
    request_timeout_ms: int = setting(30_000, at_least=1, at_most=INT_MAX)
    default_api_timeout_ms: int = setting(MINUTE_MS, at_least=1, at_most=INT_MAX)
    max_in_flight_requests_per_connection: int = setting(5, at_least=1, at_most=1000)
    # librdkafka's name; Kafka's client takes answers of any size.
    receive_message_max_bytes: int = setting(2**28, at_least=1000, at_most=INT_MAX)

    # Security (security.py): PEM only; what has no meaning to Kafka's own client is librdkafka's
    security_protocol: str = setting("PLAINTEXT")
    sasl_mechanism: str = setting("")
    sasl_jaas_config: str = setting("")
    sasl_username: str = setting("")
    sasl_password: str = setting("")
    ssl_ca_location: str = setting("")
    ssl_certificate_location: str = setting("")
    ssl_key_location: str = setting("")
    ssl_key_password: str = setting("")
    ssl_truststore_type: str = setting("JKS")
    ssl_truststore_location: str = setting("")
    ssl_truststore_certificates: str = setting("")
    ssl_keystore_type: str = setting("JKS")
    ssl_keystore_location: str = setting("")
    ssl_keystore_key: str = setting("")
    ssl_keystore_certificate_chain: str = setting("")
    ssl_endpoint_identification_algorithm: str = setting("https")

    # Patience
    retry_backoff_ms: int = setting(100, at_least=1)
    retry_backoff_max_ms: int = setting(1_000, at_least=1)
    metadata_max_age_ms: int = setting(5 * MINUTE_MS, at_least=1)
    # Kafka's producer would create topics by asking for them; here that has to be wanted.
    allow_auto_create_topics: bool = setting(False)
    # librdkafka's name: how long a topic that is being created may stay unknown.
    topic_metadata_propagation_max_ms: int = setting(5_000, at_least=0)

    # Producing
    acks: str = setting("all", one_of=("0", "1", "all", "-1"))
    batch_size: int = setting(16_384, at_least=0, at_most=INT_MAX)
    linger_ms: int = setting(5, at_least=0)
    compression_type: str = setting("none", one_of=("none", "gzip", "snappy", "lz4", "zstd"))
    enable_idempotence: bool = setting(True)
    max_request_size: int = setting(2**20, at_least=1, at_most=INT_MAX)
    buffer_memory: int = setting(32 * 2**20, at_least=1)
    delivery_timeout_ms: int = setting(2 * MINUTE_MS, at_least=1)
    transaction_timeout_ms: int = setting(MINUTE_MS, at_least=1, at_most=INT_MAX)

    # Fetching
    fetch_min_bytes: int = setting(1, at_least=0, at_most=INT_MAX)
    fetch_max_wait_ms: int = setting(500, at_least=0, at_most=INT_MAX)
    fetch_max_bytes: int = setting(50 * 2**20, at_least=1, at_most=INT_MAX)
    max_partition_fetch_bytes: int = setting(2**20, at_least=1, at_most=INT_MAX)
    isolation_level: str = setting("read_uncommitted", one_of=("read_uncommitted", "read_committed"))
    auto_offset_reset: str = setting("latest", one_of=("earliest", "latest", "none"))
    check_crcs: bool = setting(True)

    # Groups
    group_instance_id: str = setting("")
    session_timeout_ms: int = setting(45_000, at_least=1, at_most=INT_MAX)
    heartbeat_interval_ms: int = setting(3_000, at_least=1)
    max_poll_interval_ms: int = setting(5 * MINUTE_MS, at_least=1, at_most=INT_MAX)
    auto_commit_interval_ms: int = setting(5_000, at_least=0)

    def __post_init__(self) -> None:
        self.addresses()
        if self.security_protocol != "PLAINTEXT" or self.ssl_truststore_location or self.ssl_keystore_location:
            from strandline.client.security import check_security  # few connections need it, and commands start quickly

            check_security(self)

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self:
        """Unlike a broker, which reads a file shared with others, a client refuses names it does not know."""
        known = {property_name(entry.name) for entry in fields(cls)}
        for name in properties:
            if name not in known:
                raise BadSetting(_describe_unknown(name, known))
        return cls.from_properties(properties)

    def addresses(self) -> list[Address]:
        if not self.bootstrap_servers:
            raise BadSetting("bootstrap.servers is empty: name a broker, as in localhost:9092")
        return [parse_address(text) for text in self.bootstrap_servers]

    @property
    def required_acks(self) -> int:
        return -1 if self.acks == "all" else int(self.acks)


def parse_address(text: str) -> Address:
    match = ADDRESS.fullmatch(text)
    port = int(match["port"] or DEFAULT_PORT) if match else 0
    if match is None or not 0 < port < 2**16:
        raise BadSetting(f"{text!r} is not the address of a broker: write host:port, as in localhost:9092")
    return Address(match["ipv6"] or match["host"], port)


def _describe_unknown(name: str, known: set[str]) -> str:
    if name in ELSEWHERE:
        return f"{name} has no meaning here: {ELSEWHERE[name]}"
    from difflib import get_close_matches  # only for those who mistype

    close = get_close_matches(name, known, n=1)
    meant = f"did you mean {close[0]}?" if close else f"{LISTED} lists them"
    return f"{name} is not a setting of the client; {meant}"
