"""Names of settings that nobody knows, neither we nor Kafka.

A file of Kafka's holds many settings that mean nothing here, and a broker starts with them all the same. A name that a
person has just typed is another matter: what Kafka knows passes, anything else is taken for a slip.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from strandline.broker.configs.definitions import BROKER_CONFIGS
from strandline.model.settings import BadSetting

# Of settings that Kafka's brokers have besides: what begins like this, or is this.
KAFKAS_FAMILIES = (
    "authorizer.",
    "broker.heartbeat.",
    "broker.session.",
    "config.providers",
    "control.plane.",
    "controller.",
    "delegation.token.",
    "group.coordinator.",
    "group.share.",
    "inter.broker.",
    "kafka.metrics.",
    "listener.",
    "log.message.",
    "metadata.",
    "metric",
    "password.encoder.",
    "quota.",
    "remote.",
    "sasl.",
    "security.",
    "share.",
    "ssl.",
    "telemetry.",
    "unstable.",
    "zookeeper.",
)
KAFKAS_NAMES = frozenset(
    (
        "alter.config.policy.class.name",
        "alter.log.dirs.replication.quota.window.num",
        "alter.log.dirs.replication.quota.window.size.seconds",
        "broker.id.generation.enable",
        "client.quota.callback.class",
        "connection.failed.authentication.delay.ms",
        "connections.max.reauth.ms",
        "create.topic.policy.class.name",
        "delete.records.purgatory.purge.interval.requests",
        "early.start.listeners",
        "eligible.leader.replicas.enable",
        "fetch.purgatory.purge.interval.requests",
        "group.consumer.migration.policy",
        "initial.broker.registration.timeout.ms",
        "log.dir.failure.timeout.ms",
        "log.flush.scheduler.interval.ms",
        "log.initial.task.delay.ms",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.alter.log.dirs.threads",
        "num.replica.fetchers",
        "offsets.topic.compression.codec",
        "principal.builder.class",
        "process.roles",
        "producer.purgatory.purge.interval.requests",
        "queued.max.requests",
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "replica.selector.class",
        "replica.socket.receive.buffer.bytes",
        "reserved.broker.max.id",
        "server.max.startup.time.ms",
        "unclean.leader.election.interval.ms",
    )
)


def refuse_unknown(names: Iterable[str]) -> None:
    """Raises `BadSetting` for the first that nobody knows."""
    for name in names:
        if name not in BROKER_CONFIGS and name not in KAFKAS_NAMES and not name.startswith(KAFKAS_FAMILIES):
            raise BadSetting(f"{name} is no setting of a broker{did_you_mean(name, BROKER_CONFIGS)}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """To be put behind a sentence."""
    close = get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
