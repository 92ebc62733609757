"""`cluster.json`: what a cluster on this machine is made of, so that it can be found and started again.

{"brokers": {"1": 9092, "2": 9093, "3": 9094},    port of each broker by its id
 "zookeepers": 1,                                 servers of its own, beside it in zookeeper-<id>/; 0 with:
 "zookeeper": "",                                 zookeeper.connect of an ensemble that was there before
 "settings": {"min.insync.replicas": "2"}}        of all brokers, by Kafka's names
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, field

from strandline.model.lazy_dataclass import dataclass

FILE_NAME = "cluster.json"
REPLICAS = 3
# What the cluster decides for each broker.
OWN_SETTINGS = ("broker.id", "log.dirs", "log.dir", "listeners", "zookeeper.connect")


class ClusterRefused(Exception):
    """One sentence: what cannot be done with the cluster, and what can."""


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    brokers: Mapping[int, int]
    zookeepers: int = 1
    zookeeper: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    def save(self, directory: str) -> None:
        path = f"{directory}/{FILE_NAME}"
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(asdict(self), file, indent=2)
            file.write("\n")
        os.replace(f"{path}.new", path)


def replicated(brokers: int) -> dict[str, str]:
    """Topics live on three brokers if there are so many, and acks=all means two of them: one may be lost."""
    replicas = str(min(brokers, REPLICAS))
    in_sync = "2" if brokers >= REPLICAS else "1"
    return {
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": replicas,
        "strandline.journal.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "zookeeper.session.timeout.ms": "6000",
    }


def load_plan(directory: str) -> ClusterPlan:
    path = f"{directory}/{FILE_NAME}"
    try:
        with open(path, encoding="utf-8") as file:
            return _plan(json.load(file))
    except FileNotFoundError:
        raise ClusterRefused(
            f"There is no cluster in {directory}: begin one with `strandline cluster up --dir {directory}`."
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ClusterRefused(
            f"{path} is damaged, and cannot be read as the plan of a cluster: write it anew, or choose another --dir."
        ) from None


def _plan(stored: dict[str, object]) -> ClusterPlan:
    brokers, settings = stored["brokers"], stored["settings"]
    if not isinstance(brokers, dict) or not isinstance(settings, dict) or not brokers:
        raise ValueError
    return ClusterPlan(
        {int(broker_id): int(port) for broker_id, port in brokers.items()},
        int(str(stored["zookeepers"])),
        str(stored["zookeeper"]),
        {str(name): str(value) for name, value in settings.items()},
    )
