"""SCRAM credentials of users, as Kafka keeps them in `/config/users/<user>` (KIP-554).

    SCRAM-SHA-256 = salt=…,stored_key=…,server_key=…,iterations=4096      all but the last in base64

The client sends the salted password; what is kept of it suffices to check a password and not to present one (RFC 5802).
No listener asks for them yet (docs/gaps.md).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64encode
from enum import IntEnum

from strandline.model.failures import CorruptData, ErrorCode, Refused

ITERATIONS_MIN, ITERATIONS_MAX = 4_096, 16_384
STORED = re.compile(r"salt=[^,]+,stored_key=[^,]+,server_key=[^,]+,iterations=(?P<iterations>[0-9]{1,9})")


class Mechanism(IntEnum):
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def property_name(self) -> str:
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        return "sha256" if self is Mechanism.SCRAM_SHA_256 else "sha512"


def mechanism_of(number: int) -> Mechanism:
    try:
        return Mechanism(number)
    except ValueError:
        raise Refused(ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"There is no SCRAM mechanism {number}.") from None


def check_iterations(iterations: int) -> None:
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise Refused(
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            f"{iterations} iterations are not within {ITERATIONS_MIN} and {ITERATIONS_MAX}.",
        )


def encode_credential(mechanism: Mechanism, salt: bytes, salted_password: bytes, iterations: int) -> str:
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.hash_name)
    stored_key = hashlib.new(mechanism.hash_name, client_key).digest()
    server_key = hmac.digest(salted_password, b"Server Key", mechanism.hash_name)
    parts = {"salt": salt, "stored_key": stored_key, "server_key": server_key}
    return ",".join(
        [f"{name}={b64encode(part).decode()}" for name, part in parts.items()] + [f"iterations={iterations}"]
    )


def iterations_of(user: str, credential: str) -> int:
    match = STORED.fullmatch(credential)
    if match is None:
        raise CorruptData(f"a stored credential of user {user[:80]!r} cannot be read")
    return int(match["iterations"])
