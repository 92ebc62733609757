"""Why there is no broker where one was expected, in a sentence that says what to do about it."""

from __future__ import annotations

import socket

from strandline.client.settings import Address
from strandline.model.failures import ProtocolError

TLS_ALERT = b"\x15\x03"


def describe_no_connection(address: Address, error: OSError) -> str:
    if isinstance(error, ConnectionRefusedError):
        return f"no broker at {address}: start one with `strandline serve`, or name another with -b host:port"
    if isinstance(error, socket.gaierror):
        return f"there is no host {address.host!r}: check the address of the broker"
    if type(error).__module__ == "ssl":
        return describe_no_trust(address, error)
    return f"no connection to {address}: {error.strerror or error}"


def describe_no_trust(address: Address, error: OSError) -> str:
    said = getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)
    if hasattr(error, "verify_message"):
        return (
            f"the certificate of {address} is not trusted: {said}; name the authority that signed it with"
            " ssl.truststore.location (and ssl.truststore.type=PEM)"
        )
    return f"no TLS with {address}: {said}; is that a listener for SSL or SASL_SSL?"


def describe_stranger(address: Address, first_bytes: bytes, error: ProtocolError) -> str:
    if first_bytes == b"HTTP":
        return f"{address} is a web server, not a broker: check the port"
    if first_bytes.startswith(TLS_ALERT):
        return f"{address} speaks TLS: set security.protocol to SSL or SASL_SSL, or use a plain-text listener"
    return f"what {address} answers is not Kafka's protocol: {error}"
