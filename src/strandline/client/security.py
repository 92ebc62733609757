"""How a connection is kept private, and who it is for: `security.protocol` and what belongs to it, by Kafka's names.

TLS takes certificates and keys as PEM, in a file or in the setting itself (KIP-651); librdkafka's `ssl.ca.location` and
the like are taken, too. Java's own stores (JKS, PKCS12) are refused. SASL is PLAIN or SCRAM, with name and password in
Kafka's `sasl.jaas.config` or in librdkafka's `sasl.username` and `sasl.password`.
"""

from __future__ import annotations

import os
import re
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from strandline.client.failures import ClientError
from strandline.client.scram import MECHANISMS
from strandline.model.settings import BadSetting

if TYPE_CHECKING:
    from ssl import SSLContext

    from strandline.client.settings import ClientSettings

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
PLAIN = "PLAIN"
SASL_MECHANISMS = (PLAIN, *MECHANISMS)
PEM = "PEM"
JAAS_WORD = re.compile(r"""\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")


class Credentials(NamedTuple):
    username: str
    password: str


def uses_tls(settings: ClientSettings) -> bool:
    return settings.security_protocol.upper() in ("SSL", "SASL_SSL")


def uses_sasl(settings: ClientSettings) -> bool:
    return settings.security_protocol.upper().startswith("SASL_")


def check_security(settings: ClientSettings) -> None:
    """What can be said before anybody is asked for anything. Raises `BadSetting`."""
    if settings.security_protocol.upper() not in PROTOCOLS:
        raise BadSetting(f"security.protocol={settings.security_protocol!r}: choose from {', '.join(PROTOCOLS)}")
    for what in ("truststore", "keystore"):
        kind = getattr(settings, f"ssl_{what}_type").upper()
        if kind != PEM and (getattr(settings, f"ssl_{what}_location") or kind != "JKS"):
            raise BadSetting(
                f"ssl.{what}.type={kind}: key stores of Java are not read here; export PEM"
                f" (`keytool -exportcert -rfc`, `openssl pkcs12`), and set ssl.{what}.type to PEM"
            )
    if uses_sasl(settings):
        if settings.sasl_mechanism not in SASL_MECHANISMS:
            given = settings.sasl_mechanism or "GSSAPI, Kafka's default"
            raise BadSetting(f"sasl.mechanism={given}: choose from {', '.join(SASL_MECHANISMS)}")
        credentials_of(settings)


def credentials_of(settings: ClientSettings) -> Credentials:
    if settings.sasl_username:
        return Credentials(settings.sasl_username, settings.sasl_password)
    found = {name: _unquoted(*values) for name, *values in JAAS_WORD.findall(settings.sasl_jaas_config)}
    if not found.get("username"):
        raise BadSetting(
            'sasl.jaas.config names no user: write `…LoginModule required username="…" password="…";`, or set'
            " sasl.username and sasl.password"
        )
    return Credentials(found["username"], found.get("password", ""))


def _unquoted(double: str, single: str, bare: str) -> str:
    return re.sub(r"\\(.)", r"\1", double or single) or bare


def tls_context(settings: ClientSettings) -> SSLContext:
    """For one connection. Files are read here."""
    import ssl

    try:
        context = ssl.create_default_context(
            cafile=settings.ssl_ca_location or settings.ssl_truststore_location or None,
            cadata=settings.ssl_truststore_certificates or None,
        )
        if not settings.ssl_endpoint_identification_algorithm.strip():
            context.check_hostname = False
        _load_own(context, settings)
    except (OSError, ValueError) as error:  # of ssl, an OSError as well
        raise ClientError(f"the certificates or keys that ssl.* names cannot be used: {error}") from None
    return context


def _load_own(context: SSLContext, settings: ClientSettings) -> None:
    """Who we are, where a broker asks for that."""
    password = settings.ssl_key_password or None
    certificate = settings.ssl_certificate_location or settings.ssl_keystore_location
    if certificate:
        context.load_cert_chain(certificate, settings.ssl_key_location or None, password)
    elif settings.ssl_keystore_key:
        # Python reads keys from files alone.
        with tempfile.NamedTemporaryFile("w", suffix=".pem", delete=False) as file:
            file.write(f"{settings.ssl_keystore_key}\n{settings.ssl_keystore_certificate_chain}\n")
        try:
            context.load_cert_chain(file.name, password=password)
        finally:
            os.unlink(file.name)
