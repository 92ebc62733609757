"""The properties of the brokers of a run: small files, short patience, and what each load asks for besides."""

from __future__ import annotations

from random import Random

from strandline.simulation.loads import KINDS
from strandline.simulation.options import Options

SESSION_TIMEOUT_MS = 6_000
LAG_AND_FETCH_WAIT_MS = (  # followers that ask rarely cost little in quiet times
    (2_000, 2_000),
    (10_000, 8_000),
    (10_000, 8_000),
)
REPLICAS, MIN_IN_SYNC = 3, 2  # where there are as many brokers


def properties_of(options: Options, chance: Random) -> dict[str, str]:
    lag_ms, fetch_wait_ms = chance.choice(LAG_AND_FETCH_WAIT_MS)
    replicas, in_sync = str(min(REPLICAS, options.brokers)), str(min(MIN_IN_SYNC, options.brokers))
    return {
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        "log.segment.bytes": str(chance.choice((1024, 4096, 65536))),
        "log.index.size.max.bytes": "4096",
        "log.index.interval.bytes": "256",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "replica.lag.time.max.ms": str(lag_ms),
        "replica.socket.timeout.ms": str(chance.choice((9_000, 15_000))),
        "replica.fetch.wait.max.ms": str(fetch_wait_ms),
        "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
        "log.cleaner.enable": "false",
        **{name: value for load in options.load for name, value in KINDS[load].properties.items()},
    }
