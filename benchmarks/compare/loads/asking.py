"""Requests made once, the same bytes for both sides: tiny ones that wait for each answer, and floods."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.batches import NEARLY_1_MIB, NEARLY_16_KIB
from benchmarks.compare.bench import Bench
from benchmarks.compare.load_kind import Load, Measured, Stage


@dataclass(frozen=True, kw_only=True)
class Ask(Load):
    """One tiny record after another, each acknowledged before the next is sent."""

    acks: int = 1
    partitions: int = 1  # of the topic, all but one of which are quiet

    def turn(self, bench: Bench) -> Measured:
        with bench.topic(self.partitions) as topic:
            requests = bench.scale.some(5_000, 1_000)
            ran = bench.run(
                {
                    "do": "ask",
                    "topic": topic,
                    "port": bench.leader_port(topic),
                    "requests": requests,
                    "acks": self.acks,
                }
            )
        (result,) = ran.results
        cost = {"cpu_ms_per_1000_requests": ran.cpu_s * 1e6 / requests}
        return cost | {name: value for name, value in result.items() if name.startswith("p")}


@dataclass(frozen=True, kw_only=True)
class Transact(Load):
    """One transaction after another, each committed before the next begins."""

    records: int

    def turn(self, bench: Bench) -> Measured:
        transactions = bench.scale.some(1_000, 200)
        with bench.topic() as topic:
            ran = bench.run(
                {
                    "do": "transact",
                    "topic": topic,
                    "port": bench.leader_port(topic),
                    "records": self.records,
                    "transactions": transactions,
                }
            )
        return {"cpu_ms_per_1000_transactions": ran.cpu_s * 1e6 / transactions, **ran.results[0]}


@dataclass(frozen=True, kw_only=True)
class Flood(Load):
    connections: int
    batch_bytes: int = 0  # or a single tiny record
    full_requests: int

    def turn(self, bench: Bench) -> Measured:
        requests = bench.scale.some(self.full_requests, self.full_requests // 5)
        with bench.topic() as topic:
            ran = bench.run(
                {
                    "do": "flood",
                    "port": bench.leader_port(topic),
                    "topic": topic,
                    "requests": requests,
                    "connections": self.connections,
                    "window": 5,
                    "batch_bytes": self.batch_bytes,
                }
            )
        cost = {"cpu_ms_per_1000_requests": ran.cpu_s * 1e6 / requests, "requests_per_s": requests / ran.wall_s}
        return cost | ({"cpu_s_per_gb": ran.cpu_s / (requests * self.batch_bytes) * 1e9} if self.batch_bytes else {})


BACK_OFF = (
    "Kafka's latency is mostly its broker's back-off of 20 ms: it has the first batch of a transaction wait where the "
    "one before is still being completed; ours waits for the completion"
)
LOADS: list[Load] = [
    Ask(name="ask", title="one tiny record after another, acks=1"),
    Flood(
        name="flood-tiny",
        title="tiny records, 16 connections with 5 requests under way",
        connections=16,
        full_requests=20_000,
    ),
    Flood(
        name="flood-16k",
        title="16 KiB batches, 4 connections with 5 requests under way",
        connections=4,
        batch_bytes=NEARLY_16_KIB,
        full_requests=8_000,
    ),
    Flood(
        name="flood-1m",
        title="1 MB batches, 1 connection with 5 requests under way",
        connections=1,
        batch_bytes=NEARLY_1_MIB,
        full_requests=200,
    ),
    Transact(name="transactions-1", title="one transaction of 1 record after another", records=1, note=BACK_OFF),
    Transact(name="transactions-100", title="one transaction of 100 records after another", records=100, note=BACK_OFF),
]
QUIET_PARTITIONS = 300
REPLICATED: list[Load] = [
    Ask(name="rf3-ask", title="RF 3: one tiny record after another, acks=all", acks=-1, stage=Stage.IN_THREES),
    Ask(
        name="rf3-ask-among-300",
        title=f"RF 3: one tiny record after another, acks=all, among {QUIET_PARTITIONS} partitions",
        acks=-1,
        partitions=QUIET_PARTITIONS,
        stage=Stage.IN_THREES,
    ),
]
