"""All benchmarks by name, and those whose rows the guard judges."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import (
    appending,
    compacting,
    crowd,
    finding,
    opening,
    records,
    recovering,
    replicating,
    serving,
    shaping,
    spreading,
    transacting,
)
from benchmarks.measure import Row
from benchmarks.scratch import Run

BENCHMARKS: dict[str, Callable[[Run], list[Row]]] = {
    "produce-16k": serving.produce_16k,
    "produce-1m": serving.produce_1m,
    "produce-tiny": serving.produce_tiny,
    "produce-round": spreading.produce_round,
    "fetch-1m": serving.fetch_1m,
    "fetch-64k": serving.fetch_64k,
    "latency": serving.latency,
    "half-open": crowd.half_open,
    "start": serving.starting,
    "librdkafka": serving.librdkafka,
    "replicate-16k": replicating.replicated_produce,
    "replicate-latency": replicating.replicated_latency,
    "catch-up": replicating.catch_up,
    "idle-partitions": replicating.idle_partitions,
    "transactions-1": transacting.transactions_1,
    "transactions-100": transacting.transactions_100,
    "transactions-10k": transacting.transactions_10k,
    "append-16k": appending.append_16k,
    "append-16k-grouped": appending.append_16k_grouped,
    "append-16k-idempotent": appending.append_16k_idempotent,
    "append-16k-aligned": appending.append_16k_aligned,
    "append-1m": appending.append_1m,
    "find": finding.find,
    "open": opening.opening,
    "recover-16k": recovering.recover_16k,
    "recover-small": recovering.recover_small,
    "compact-100": compacting.compact_100,
    "compact-1k": compacting.compact_1k,
    "offset-map": compacting.offset_map,
    "roll": shaping.roll,
    "flush": shaping.flush,
    "truncate": shaping.truncate,
    "crc": records.crc,
    "walk": records.walk,
    "read": records.read,
    "build": records.build,
}

# Those whose twin is a bare loop (`guard.TWINS`).
GUARDED = ("produce-16k", "produce-1m", "produce-tiny", "produce-round", "fetch-1m", "fetch-64k")
