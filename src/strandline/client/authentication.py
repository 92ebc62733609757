"""Who a connection is for: the SASL exchange that comes before all other requests but ApiVersions."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from strandline.client.failures import BrokerRefused, ClientError
from strandline.client.scram import ScramClient
from strandline.client.security import PLAIN, Credentials, credentials_of
from strandline.model.error_codes import ErrorCode
from strandline.model.failures import ProtocolError
from strandline.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from strandline.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from strandline.client.connection import Connection

NONCE_BYTES = 24


async def authenticate(connection: Connection) -> None:
    """A broker that does not believe us says so, and is not asked again."""
    mechanism, credentials = connection.settings.sasl_mechanism, credentials_of(connection.settings)
    answer = await connection.send(SaslHandshakeRequest(mechanism), SaslHandshakeResponse)
    if answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        known = ", ".join(answer.mechanisms) or "none"
        raise BrokerRefused(answer.error_code, f"sasl.mechanism={mechanism}", f"the broker knows {known}")
    if answer.error_code:
        raise BrokerRefused(answer.error_code, f"sasl.mechanism={mechanism}")
    if mechanism == PLAIN:
        await _say(connection, credentials, f"\0{credentials.username}\0{credentials.password}".encode())
        return
    scram = ScramClient(mechanism, *credentials, secrets.token_urlsafe(NONCE_BYTES))
    server_first = await _say(connection, credentials, scram.first())
    try:
        scram.verify(await _say(connection, credentials, scram.final(server_first)))
    except ProtocolError as error:
        raise ClientError(f"{connection.address}: {error}") from None


async def _say(connection: Connection, credentials: Credentials, words: bytes) -> bytes:
    answer = await connection.send(SaslAuthenticateRequest(words), SaslAuthenticateResponse)
    if answer.error_code:
        raise BrokerRefused(answer.error_code, f"user {credentials.username}", answer.error_message)
    return bytes(answer.auth_bytes)
