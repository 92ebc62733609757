"""The sides, started: one broker each, or three that replicate. Each as its own start script would have it.

Kafka's flags are those of `kafka-server-start`, its settings those of `config/server.properties`; left out is what the
defaults say anyway. A node alone must hold every replica, and that file says so for each internal topic.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tests.interop.broker import CLUSTER_ID, free_port, write_properties, zookeeper
from tests.interop.kafka import Kafka

from benchmarks.compare.server_process import Started, started
from benchmarks.compare.side import OURS, THEIRS, CompareFailed, Side
from strandline.cluster.cluster_plan import replicated
from strandline.cluster.process_cluster import ProcessCluster
from strandline.program import serve_command

HEAP_MB = 1024
JAVA_FLAGS = (
    f"-Xms{HEAP_MB}m",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)
# Ours is 0 unless told, Kafka's 3 seconds; each is right for somebody, so both are told.
BOTH = {"group.initial.rebalance.delay.ms": "3000"}
ALONE = BOTH | {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
SHARE_GROUPS_ALONE = {
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
REPLICAS = 3
# Kafka's own session timeout: a machine that is busy with clients must not look like one that has died.
IN_THREES = replicated(REPLICAS) | BOTH | {"zookeeper.session.timeout.ms": "18000"}

Starter = Callable[[], AbstractContextManager[Started]]


def our_version() -> str:
    try:
        return version("strandline")
    except PackageNotFoundError:
        return "from this checkout"


def kafka_starter(kafka: Kafka, folder: str) -> Starter:
    """A node that is broker and controller, in a folder that is formatted here, once."""
    os.makedirs(folder)
    port, controller_port = free_port(), free_port()
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "log.dirs": f"{folder}/data",
    }
    properties = write_properties(Path(folder, "server.properties"), ALONE | SHARE_GROUPS_ALONE | settings)
    done = kafka.run("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties))
    if done.exit_code != 0:
        raise CompareFailed(f"kafka-storage format failed: {done.stderr.strip()}")
    return lambda: started(_kafka_command(kafka, properties), port, f"{folder}/broker.log")


def strandline_starter(folder: str) -> Starter:
    os.makedirs(folder)
    port = free_port()
    settings = ALONE | {"log.dirs": f"{folder}/data", "listeners": f"PLAINTEXT://127.0.0.1:{port}"}
    return lambda: started(serve_command(settings), port, f"{folder}/broker.log")


@contextmanager
def alone(kafka: Kafka, folder: str) -> Iterator[list[Side]]:
    """One broker each."""
    ours, theirs = f"{folder}/{OURS}", f"{folder}/{THEIRS}"
    with strandline_starter(ours)() as our_broker, kafka_starter(kafka, theirs)() as their_broker:
        yield [
            Side(OURS, our_version(), f"127.0.0.1:{our_broker.port}", (our_broker.pid,), (f"{ours}/data",)),
            Side(THEIRS, kafka.version, f"127.0.0.1:{their_broker.port}", (their_broker.pid,), (f"{theirs}/data",)),
        ]


@contextmanager
def in_threes(kafka: Kafka, folder: str) -> Iterator[list[Side]]:
    """Three brokers each, and a ZooKeeper of their own, whose cost is not counted."""
    with _strandline_cluster(f"{folder}/{OURS}") as ours, _kafka_cluster(kafka, f"{folder}/{THEIRS}") as theirs:
        yield [ours, theirs]


@contextmanager
def _strandline_cluster(folder: str) -> Iterator[Side]:
    with ProcessCluster.create(folder, brokers=REPLICAS, settings=IN_THREES) as cluster:
        pids = [broker.process.pid for broker in cluster.brokers.values()]
        yield Side(
            OURS,
            our_version(),
            cluster.bootstrap,
            tuple(pid for pid in pids if pid is not None),
            tuple(broker.data for broker in cluster.brokers.values()),
        )


@contextmanager
def _kafka_cluster(kafka: Kafka, folder: str) -> Iterator[Side]:
    os.makedirs(folder)
    with ExitStack() as stack:
        address = stack.enter_context(zookeeper(kafka, Path(folder, "zookeeper"), Path(folder)))
        brokers = [
            stack.enter_context(_kafka_member(kafka, f"{folder}/broker-{broker_id}", broker_id, address))
            for broker_id in range(1, REPLICAS + 1)
        ]
        yield Side(
            THEIRS,
            kafka.version,
            ",".join(f"127.0.0.1:{broker.port}" for broker in brokers),
            tuple(broker.pid for broker in brokers),
            tuple(f"{folder}/broker-{broker_id}/data" for broker_id in range(1, REPLICAS + 1)),
        )


def _kafka_member(kafka: Kafka, folder: str, broker_id: int, address: str) -> AbstractContextManager[Started]:
    os.makedirs(folder)
    port = free_port()
    own = {
        "broker.id": str(broker_id),
        "zookeeper.connect": address,
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": f"{folder}/data",
    }
    properties = write_properties(Path(folder, "server.properties"), IN_THREES | own)
    return started(_kafka_command(kafka, properties), port, f"{folder}/broker.log")


def _kafka_command(kafka: Kafka, properties: Path) -> list[str]:
    return kafka.command("kafka.Kafka", str(properties), heap_mb=HEAP_MB, log_level="INFO", java_flags=JAVA_FLAGS)
