"""TLS and SASL: what goes over the wire, who is believed, and what is refused in one sentence.

Apache Kafka itself is asked in tests/interop/test_secured_kafka.py.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ssl
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.client.scripted_broker import ScriptedBroker

from strandline.client.connection import Connection
from strandline.client.failures import BrokerRefused, BrokerUnreachable, ClientError
from strandline.client.scram import ScramClient
from strandline.client.security import credentials_of
from strandline.client.settings import Address, ClientSettings
from strandline.model.error_codes import ErrorCode
from strandline.model.failures import ProtocolError
from strandline.model.settings import BadSetting
from strandline.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from strandline.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

CERTIFICATES = Path(__file__).with_name("certificates")
CERTIFICATE, KEY = str(CERTIFICATES / "broker.crt"), str(CERTIFICATES / "broker.key")
OTHER_NAME = "127.1"  # of the same address
SASL: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT", "sasl_username": "user", "sasl_password": "pencil"}
TRUSTING: dict[str, Any] = {
    "security_protocol": "SSL",
    "ssl_truststore_type": "PEM",
    "ssl_truststore_location": CERTIFICATE,
}


# SCRAM


def test_scram_is_that_of_the_rfc() -> None:
    """The example of RFC 7677, section 3."""
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert client.final(b"r=%s,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096" % nonce) == (
        b"c=biws,r=%s,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=" % nonce
    )
    client.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(ProtocolError, match="could not prove"):
        client.verify(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_a_name_may_hold_what_has_a_meaning_there() -> None:
    assert ScramClient("SCRAM-SHA-512", "a=b,c", "", "n").first() == b"n,,n=a=3Db=2Cc,r=n"


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"\xff",
        b"r=other,s=QQ==,i=4096",
        b"r=nonce,s=QQ==,i=0",
        b"r=nonce,s=QQ==,i=99999999999",
        b"r=nonce,s=QQ==,i=x",
        b"r=nonce,s=!,i=1",
    ],
)
def test_words_that_are_no_brokers_are_not_answered(words: bytes) -> None:
    with pytest.raises(ProtocolError, match="SCRAM exchange"):
        ScramClient("SCRAM-SHA-256", "user", "pencil", "nonce").final(words)


# The exchange


class SaslBroker:
    """The other side, written anew from the RFC, for one user."""

    def __init__(self, broker: ScriptedBroker, *, password: str = "pencil", mechanisms: tuple[str, ...]) -> None:
        self._password = password.encode()
        self._mechanisms = list(mechanisms)
        self._mechanism = ""
        self._said = b""
        broker.answers[SaslHandshakeRequest] = self.handshake
        broker.answers[SaslAuthenticateRequest] = self.authenticate

    def handshake(self, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
        self._mechanism = request.mechanism
        known = request.mechanism in self._mechanisms
        return SaslHandshakeResponse(0 if known else ErrorCode.UNSUPPORTED_SASL_MECHANISM, self._mechanisms)

    def authenticate(self, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
        words = bytes(request.auth_bytes)
        if self._mechanism == "PLAIN":
            return self._answer(words == b"\0user\0" + self._password, b"")
        if words.startswith(b"n,,"):
            self._said = b"%s,%s" % (words[3:], first := words[3:].partition(b"r=")[2].join([b"r=", b"+,s=QQ==,i=5"]))
            return self._answer(True, first)
        bare, _, proof = words.partition(b",p=")
        return self._answer(*self._judge(b"%s,%s" % (self._said, bare), proof))

    def _judge(self, signed: bytes, proof: bytes) -> tuple[bool, bytes]:
        name = self._mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        salted = hashlib.pbkdf2_hmac(name, self._password, b"A", 5)
        client_key = hmac.digest(salted, b"Client Key", name)
        signature = hmac.digest(hashlib.new(name, client_key).digest(), signed, name)
        wanted = b64encode(bytes(left ^ right for left, right in zip(client_key, signature, strict=True)))
        server = hmac.digest(hmac.digest(salted, b"Server Key", name), signed, name)
        return proof == wanted, b"v=" + b64encode(server)

    def _answer(self, is_believed: bool, words: bytes) -> SaslAuthenticateResponse:
        if is_believed:
            return SaslAuthenticateResponse(auth_bytes=words)
        return SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "Authentication failed")


def connect(
    prepare: Callable[[ScriptedBroker], object],
    *,
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
    **given: Any,
) -> ScriptedBroker:
    """Opens a connection, and closes it."""

    async def run() -> ScriptedBroker:
        async with ScriptedBroker(tls=tls) as broker:
            prepare(broker)
            connection = await Connection.open(Address(host, broker.port), broker.settings(**given))
            await connection.closed()
        return broker

    return asyncio.run(run())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_is_believed_who_knows_the_password(mechanism: str) -> None:
    def prepare(broker: ScriptedBroker) -> object:
        return SaslBroker(broker, mechanisms=(mechanism,))

    broker = connect(prepare, sasl_mechanism=mechanism, **SASL)
    steps = 1 if mechanism == "PLAIN" else 2
    assert broker.versions_spoken == [("ApiVersions", 4), ("SaslHandshake", 1)] + [("SaslAuthenticate", 2)] * steps


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_another_password_is_refused_once_and_not_tried_again(mechanism: str) -> None:
    def prepare(broker: ScriptedBroker) -> object:
        return SaslBroker(broker, password="pen", mechanisms=(mechanism,))

    with pytest.raises(BrokerRefused, match=r"user user: Authentication failed \(SASL_AUTHENTICATION_FAILED\)"):
        connect(prepare, sasl_mechanism=mechanism, **SASL)


def test_a_mechanism_that_the_broker_does_not_know_is_told_with_those_it_knows() -> None:
    def prepare(broker: ScriptedBroker) -> object:
        return SaslBroker(broker, mechanisms=("SCRAM-SHA-512",))

    with pytest.raises(BrokerRefused, match=r"sasl.mechanism=PLAIN: the broker knows SCRAM-SHA-512"):
        connect(prepare, sasl_mechanism="PLAIN", **SASL)


# TLS


def broker_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    return context


def nothing(_: ScriptedBroker) -> None:
    """To prepare."""


@pytest.mark.parametrize(
    "trust",
    [
        {"ssl_truststore_location": CERTIFICATE, "ssl_truststore_type": "PEM"},
        {"ssl_truststore_certificates": Path(CERTIFICATE).read_text(), "ssl_truststore_type": "PEM"},
        {"ssl_ca_location": CERTIFICATE},
    ],
)
def test_a_broker_is_trusted_by_a_file_or_by_the_certificate_itself(trust: dict[str, Any]) -> None:
    broker = connect(nothing, tls=broker_tls(), security_protocol="SSL", **trust)
    assert broker.versions_spoken == [("ApiVersions", 4)]


def test_a_broker_that_nobody_vouches_for_is_not_trusted() -> None:
    with pytest.raises(BrokerUnreachable, match=r"is not trusted: self-signed certificate; name the authority"):
        connect(nothing, tls=broker_tls(), security_protocol="SSL")


def test_a_broker_of_another_name_is_not_trusted_unless_names_do_not_count() -> None:
    with pytest.raises(BrokerUnreachable, match=r"is not trusted: Hostname mismatch"):
        connect(nothing, tls=broker_tls(), host=OTHER_NAME, **TRUSTING)
    connect(nothing, tls=broker_tls(), host=OTHER_NAME, **TRUSTING, ssl_endpoint_identification_algorithm="")


def test_tls_with_a_listener_that_has_none_says_so() -> None:
    with pytest.raises(ClientError, match=r"no TLS with|closed the connection|no broker answered"):
        connect(nothing, **TRUSTING, socket_connection_setup_timeout_ms=2_000)


def test_who_we_are_can_be_a_file_or_in_the_settings_themselves() -> None:
    """Where a broker asks for that. A file that is not there is told."""
    asking = broker_tls()
    asking.load_verify_locations(CERTIFICATE)
    asking.verify_mode = ssl.CERT_REQUIRED
    files: dict[str, Any] = {"ssl_certificate_location": CERTIFICATE, "ssl_key_location": KEY}
    texts: dict[str, Any] = {
        "ssl_keystore_key": Path(KEY).read_text(),
        "ssl_keystore_certificate_chain": Path(CERTIFICATE).read_text(),
    }
    for own in (files, texts):
        connect(nothing, tls=asking, **TRUSTING, **own)
    with pytest.raises(ClientError, match=r"that ssl.\* names cannot be used"):
        connect(nothing, tls=asking, **TRUSTING, ssl_certificate_location="nowhere.pem")


# Settings


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"security.protocol": "TLS"}, "security.protocol='TLS': choose from PLAINTEXT, SSL"),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "trust.jks"},
            "ssl.truststore.type=JKS: key stores",
        ),
        ({"ssl.keystore.location": "k.p12", "ssl.keystore.type": "PKCS12"}, "ssl.keystore.type=PKCS12: key stores of"),
        ({"ssl.truststore.password": "x"}, "key stores of Java are not read here: set ssl.truststore.type to PEM"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism=GSSAPI, Kafka's default: choose from PLAIN, SCRAM-SHA-256"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "sasl.mechanism=OAUTHBEARER: choose from"),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN"}, "sasl.jaas.config names no user"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anybody_is_called(given: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadSetting) as refusal:
        ClientSettings.of(given)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("jaas", "expected"),
    [
        ('x.PlainLoginModule required username="ann" password="s e;c";', ("ann", "s e;c")),
        (r'ScramLoginModule required password="a\"b\\" username="ann";', ("ann", 'a"b\\')),
        ("ScramLoginModule required username='ann' password=secret;", ("ann", "secret")),
    ],
)
def test_name_and_password_as_java_writes_them(jaas: str, expected: tuple[str, str]) -> None:
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    assert credentials_of(ClientSettings.of(given)) == expected
