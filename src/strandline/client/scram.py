"""SCRAM (RFC 5802, 7677): both sides prove that they know a password, and neither says it.

    client-first    n,,n=<user>,r=<nonce>
    server-first    r=<nonce and the server's>,s=<salt>,i=<iterations>
    client-final    c=biws,r=<nonce>,p=<proof>
    server-final    v=<signature>, or e=<error>

Names and passwords go as they are, in UTF-8: Kafka prepares neither (SASLprep).
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as BadBase64

from strandline.model.failures import ProtocolError

MECHANISMS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
NO_BINDING = "n,,"
ITERATIONS_MAX = 1_000_000  # a broker that asks for more means to keep us busy


class ScramClient:
    """One exchange: `first`, then `final`, then `verify`, each with what the server has said."""

    def __init__(self, mechanism: str, username: str, password: str, nonce: str) -> None:
        self._hash = MECHANISMS[mechanism]
        self._password = password.encode()
        self._nonce = nonce
        self._bare = f"n={username.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        return f"{NO_BINDING}{self._bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        said = _attributes(server_first)
        nonce, iterations = said.get("r", ""), said.get("i", "")
        if not nonce.startswith(self._nonce) or not iterations.isdecimal() or not 0 < int(iterations) <= ITERATIONS_MAX:
            raise ProtocolError("the broker's first words in the SCRAM exchange are not those of a broker")
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, _decoded(said.get("s", "")), int(iterations))
        without_proof = f"c={b64encode(NO_BINDING.encode()).decode()},r={nonce}"
        signed = f"{self._bare},{server_first.decode()},{without_proof}".encode()
        client_key = self._keyed(salted, b"Client Key")
        signature = self._keyed(hashlib.new(self._hash, client_key).digest(), signed)
        proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        self._server_signature = self._keyed(self._keyed(salted, b"Server Key"), signed)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def verify(self, server_final: bytes) -> None:
        """That the broker knows the password, too."""
        signature = _decoded(_attributes(server_final).get("v", ""))
        if not self._server_signature or not hmac.compare_digest(signature, self._server_signature):
            raise ProtocolError("the broker could not prove in the SCRAM exchange that it knows the password")

    def _keyed(self, key: bytes, content: bytes) -> bytes:
        return hmac.digest(key, content, self._hash)


def _attributes(message: bytes) -> dict[str, str]:
    try:
        parts = [part.partition("=") for part in message.decode().split(",")]
    except UnicodeDecodeError:
        raise ProtocolError("what the broker says in the SCRAM exchange is not text") from None
    return {name: value for name, _, value in parts}


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (BadBase64, ValueError):
        raise ProtocolError("what the broker says in the SCRAM exchange is not base 64") from None
