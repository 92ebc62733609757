"""The znodes that make a ZooKeeper-mode Kafka take over a data directory it has never seen.

In this mode topics live in ZooKeeper alone. With the cluster's id and, for each partition folder, the topic
(with the id from `partition.metadata`) and a partition state without a leader, a broker that starts on the
directory becomes controller, elects itself at the next leader epoch, and serves what the folders hold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.interop.broker import NODE_ID
from tests.interop.kafka import Kafka


def register_directory(kafka: Kafka, address: str, data: Path) -> None:
    """Tell the ZooKeeper at `address` of everything in `data`, as if a broker had left it behind."""
    commands = [_create("/cluster"), _create("/cluster/id", {"version": "1", "id": _cluster_id(data)})]
    commands += [_create("/brokers"), _create("/brokers/topics")]
    for folder in sorted(data.glob("*-0/")):
        commands += _topic(folder.name.removesuffix("-0"), folder)
    arguments = ("-server", address, "-timeout", "30000", "-waitforconnection")
    done = kafka.run("org.apache.zookeeper.ZooKeeperMain", *arguments, stdin="\n".join([*commands, "quit", ""]))
    assert done.stderr.count("Created /") == len(commands), done.stdout + done.stderr


def _topic(name: str, folder: Path) -> list[str]:
    topic = {
        "version": 3,
        "topic_id": _property(folder / "partition.metadata", "topic_id: "),
        "partitions": {"0": [NODE_ID]},
        "adding_replicas": {},
        "removing_replicas": {},
    }
    state = {
        "controller_epoch": 0,
        "leader": -1,
        "version": 1,
        "leader_epoch": _last_epoch(folder),
        "isr": [NODE_ID],
    }
    path = f"/brokers/topics/{name}"
    return [
        _create(path, topic),
        _create(f"{path}/partitions"),
        _create(f"{path}/partitions/0"),
        _create(f"{path}/partitions/0/state", state),
    ]


def _create(path: str, content: Mapping[str, object] | None = None) -> str:
    # The shell splits at blanks, so the JSON has none.
    return f"create {path}" + ("" if content is None else " " + json.dumps(content, separators=(",", ":")))


def _cluster_id(data: Path) -> str:
    return _property(data / "meta.properties", "cluster.id=")


def _last_epoch(folder: Path) -> int:
    entries = (folder / "leader-epoch-checkpoint").read_text().splitlines()[2:]
    return int(entries[-1].split()[0]) if entries else 0


def _property(path: Path, start: str) -> str:
    return next(line.removeprefix(start) for line in path.read_text().splitlines() if line.startswith(start))
