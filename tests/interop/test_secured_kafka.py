"""Apache Kafka with TLS and SASL: our client and our Spark source are let in where they should be, and only there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.interop.broker import CLUSTER_ID, format_properties, free_port, kraft_broker
from tests.interop.client import Client
from tests.interop.conftest import referee
from tests.interop.kafka import need

from strandline.client.blocking import Blocking
from strandline.client.cluster import Cluster
from strandline.client.failures import ClientError
from strandline.client.producer import Producer
from strandline.client.settings import ClientSettings

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # of PySpark, which leaves them lying about
]

TOPIC = "orders"
NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"
JAAS = 'org.apache.kafka.common.security.{}LoginModule required username="{}" password="{}";'
PLAIN_USERS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_ann="ann\'s secret";'
SCRAM_USERS = {"SCRAM-SHA-256": ("bob", "bob secret"), "SCRAM-SHA-512": ("eve", "eve secret")}


class Secured(NamedTuple):
    sasl_ssl: str  # addresses of listeners
    sasl_plaintext: str
    ssl: str  # which asks for a certificate
    authority: Path
    own: Path  # certificate and key of a client, in one file


def make_certificate(folder: Path, name: str) -> Path:
    """Signed by itself; certificate and key in one file, as Kafka reads PEM."""
    key, certificate, both = (folder / f"{name}.{ending}" for ending in ("key", "crt", "pem"))
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    files = ["-addext", NAMES, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *files], check=True, capture_output=True)
    both.write_text(key.read_text() + certificate.read_text())
    return both


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    kafka, work = referee("4.3"), tmp_path_factory.mktemp("secured")
    need("openssl", "openssl to make certificates")
    broker_pem, client_pem = (make_certificate(work, name) for name in ("broker", "client"))
    data = work / "data"
    users = [f"{name}=[name={user},password={word}]" for name, (user, word) in SCRAM_USERS.items()]
    added = [argument for each in users for argument in ("--add-scram", each)]
    properties = format_properties(data, work)
    done = kafka.run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties), *added)
    assert done.exit_code == 0, done.stdout + done.stderr
    ports = {name: free_port() for name in ("PLAINTEXT", "CONTROLLER", "SASL_SSL", "SASL_PLAINTEXT", "SSL")}
    secrets = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(
            f"{name}://127.0.0.1:{port}" for name, port in ports.items() if name != "CONTROLLER"
        ),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
        "listener.security.protocol.map": ",".join(
            f"{name}:{'PLAINTEXT' if name == 'CONTROLLER' else name}" for name in ports
        ),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(broker_pem),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(work / "client.crt"),
        "listener.name.ssl.ssl.client.auth": "required",
    }
    for listener in ("sasl_ssl", "sasl_plaintext"):
        secrets[f"listener.name.{listener}.plain.sasl.jaas.config"] = PLAIN_USERS
        for mechanism in SCRAM_USERS:
            name = f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"
            secrets[name] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    with kraft_broker(kafka, data, work, secrets) as broker:
        plain = replace(broker, bootstrap=f"127.0.0.1:{ports['PLAINTEXT']}")
        Client(kafka, plain).create(TOPIC)
        addresses = [f"127.0.0.1:{ports[name]}" for name in ("SASL_SSL", "SASL_PLAINTEXT", "SSL")]
        yield Secured(addresses[0], addresses[1], addresses[2], work / "broker.crt", client_pem)


def sasl(mechanism: str, user: str, password: str) -> dict[str, str]:
    module = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": JAAS.format(module, user, password)}


def trust(secured: Secured) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(secured.authority)}


def produce_one(settings: dict[str, str], value: bytes) -> None:
    async def work(cluster: Cluster) -> None:
        async with Producer(cluster) as producer:
            await producer.send(TOPIC, value)
        if producer.failure is not None:
            raise producer.failure

    with Blocking(ClientSettings.of(settings)) as client:
        client(work)


USERS = {"PLAIN": ("ann", "ann's secret"), **SCRAM_USERS}


@pytest.mark.parametrize("mechanism", USERS)
@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
def test_a_user_is_let_in(secured: Secured, protocol: str, mechanism: str) -> None:
    address = secured.sasl_ssl if protocol == "SASL_SSL" else secured.sasl_plaintext
    settings = {"bootstrap.servers": address, "security.protocol": protocol} | sasl(mechanism, *USERS[mechanism])
    produce_one(settings | (trust(secured) if protocol == "SASL_SSL" else {}), mechanism.encode())


@pytest.mark.parametrize("mechanism", USERS)
def test_a_wrong_password_is_told_at_once(secured: Secured, mechanism: str) -> None:
    settings = {"bootstrap.servers": secured.sasl_ssl, "security.protocol": "SASL_SSL"} | trust(secured)
    with pytest.raises(ClientError, match="SASL_AUTHENTICATION_FAILED"):
        produce_one(settings | sasl(mechanism, USERS[mechanism][0], "guess"), b"")


def test_certificates_vouch_for_both_sides(secured: Secured) -> None:
    settings = {"bootstrap.servers": secured.ssl, "security.protocol": "SSL"} | trust(secured)
    produce_one(settings | {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(secured.own)}, b"certified")
    with pytest.raises(ClientError):
        produce_one(settings | {"default.api.timeout.ms": "3000"}, b"nobody")
    with pytest.raises(ClientError, match="is not trusted"):
        produce_one({"bootstrap.servers": secured.ssl, "security.protocol": "SSL"}, b"")


def test_sparks_source_and_sink_are_let_in(spark: Any, secured: Secured) -> None:
    own = {"bootstrap.servers": secured.sasl_ssl, "security.protocol": "SASL_SSL"}
    own |= trust(secured) | sasl("SCRAM-SHA-512", *SCRAM_USERS["SCRAM-SHA-512"])
    options = {f"kafka.{name}": value for name, value in own.items()}
    rows = spark.range(50).selectExpr("concat('spark ', id) AS value")
    writer = rows.write.format("strandline").mode("append").options(**options, topic=TOPIC)
    writer.option("delivery", "exactly-once").save()
    for source in ("strandline", "kafka"):  # by the same options
        found = spark.read.format(source).options(**options, subscribe=TOPIC).load()
        values = [row.value for row in found.selectExpr("cast(value AS string) AS value").collect()]
        assert sorted(value for value in values if value.startswith("spark ")) == sorted(
            f"spark {n}" for n in range(50)
        )
