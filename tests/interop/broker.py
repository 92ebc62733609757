"""Real brokers on a data directory: one node, on free ports of 127.0.0.1, with a small heap.

Two kinds, because the truth about topics lives in different places (docs/interop.md):

- `kraft_broker` (3.9 and 4): broker and controller in one process. Topics live in the metadata log, itself in
  the data directory, so this must have been formatted (`format_directory`) and the topics created by Kafka.
- `zookeeper_broker` (3.9): topics live in ZooKeeper, so a data directory can be wholly ours.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop.kafka import Kafka
from tests.interop.process import Child

from strandline.client.blocking import Blocking
from strandline.client.settings import ClientSettings

BROKER_HEAP_MB = 256
ZOOKEEPER_HEAP_MB = 64
KNOWN_WITHIN_S = 30.0
NODE_ID = 1
CLUSTER_ID = "c3RyYW5kbGluZS1nb2xkZQ"  # any 16 bytes in URL-safe base 64; these spell "strandline-golde"

# One node holds every replica; few threads, since the machine has other work.
SINGLE_NODE = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    # A broker that comes back after kill -9 waits until its former session is over.
    "broker.session.timeout.ms": "2000",
    "broker.heartbeat.interval.ms": "500",
    "num.network.threads": "1",
    "num.io.threads": "2",
    "background.threads": "2",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "log.index.size.max.bytes": "1048576",
}

# Warnings of the log layer, and the scan of a segment after a crash. KRaft scans its own metadata log at each start.
MENDING = re.compile(
    r"\] (WARN|ERROR) .*\((kafka\.log|org\.apache\.kafka\.storage\.internals\.log)\."
    r"|partition=(?!__cluster_metadata).* Recovering unflushed segment"
)


@dataclass(frozen=True)
class Broker:
    server: Child
    bootstrap: str
    data: Path


def check_believed(broker: Broker) -> None:
    """The broker took the stop before its start for a clean one, and mended no file of any topic."""
    log = broker.server.log()
    assert "since clean shutdown file was found" in log
    assert [line for line in log.splitlines() if MENDING.search(line)] == []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def format_directory(kafka: Kafka, data: Path, work: Path) -> None:
    """What `kafka-storage format` does: meta.properties, and a bootstrap snapshot of the metadata."""
    properties = format_properties(data, work)
    done = kafka.run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties))
    assert done.exit_code == 0, done.stdout + done.stderr


def format_properties(data: Path, work: Path) -> Path:
    return write_properties(work / "format.properties", _kraft_settings(data, free_port(), free_port()))


@contextmanager
def kraft_broker(kafka: Kafka, data: Path, work: Path, settings: Mapping[str, str] | None = None) -> Iterator[Broker]:
    port = free_port()
    properties = write_properties(
        work / "server.properties", _kraft_settings(data, port, free_port()) | dict(settings or {})
    )
    with _running(kafka, properties, work / "broker.log") as server:
        yield Broker(server, f"127.0.0.1:{port}", data)


@contextmanager
def zookeeper(kafka: Kafka, data: Path, work: Path) -> Iterator[str]:
    """A ZooKeeper of one node, from the jars of Kafka 3.9; gives its address."""
    port = free_port()
    settings = {
        "dataDir": str(data),
        "clientPort": str(port),
        "clientPortAddress": "127.0.0.1",
        "admin.enableServer": "false",
        "maxClientCnxns": "0",
        "tickTime": "2000",
    }
    properties = write_properties(work / "zookeeper.properties", settings)
    command = kafka.command(
        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        str(properties),
        heap_mb=ZOOKEEPER_HEAP_MB,
        log_level="INFO",
    )
    with Child(command, work / "zookeeper.log", ready_line="binding to port"):
        yield f"127.0.0.1:{port}"


@contextmanager
def zookeeper_broker(
    kafka: Kafka, data: Path, work: Path, zookeeper_address: str, settings: Mapping[str, str] | None = None
) -> Iterator[Broker]:
    port = free_port()
    own = {
        "broker.id": str(NODE_ID),
        "zookeeper.connect": zookeeper_address,
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(data),
    }
    properties = write_properties(work / "server.properties", SINGLE_NODE | own | dict(settings or {}))
    with _running(kafka, properties, work / "broker.log") as server:
        _wait_until_known(f"127.0.0.1:{port}")
        yield Broker(server, f"127.0.0.1:{port}", data)


def _wait_until_known(address: str) -> None:
    """By the controller, which hears of a broker that has started from ZooKeeper a little later."""
    until = time.monotonic() + KNOWN_WITHIN_S
    with Blocking(ClientSettings(bootstrap_servers=(address,))) as client:
        while not client(lambda cluster: cluster.refresh([])).nodes:
            assert time.monotonic() < until, f"no controller knows the broker at {address}"
            time.sleep(0.05)


def _kraft_settings(data: Path, port: int, controller_port: int) -> dict[str, str]:
    return SINGLE_NODE | {
        "process.roles": "broker,controller",
        "node.id": str(NODE_ID),
        "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "log.dirs": str(data),
    }


def write_properties(path: Path, settings: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path


def _running(kafka: Kafka, properties: Path, log_file: Path) -> Child:
    command = kafka.command("kafka.Kafka", str(properties), heap_mb=BROKER_HEAP_MB, log_level="INFO")
    # KafkaRaftServer or KafkaServer says so, by mode.
    return Child(command, log_file, ready_line="started (kafka.server.Kafka")
