"""What a broker holds without work: idle connections, a thousand topics, a group of twenty."""

from __future__ import annotations

import resource
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count

from benchmarks import load
from benchmarks.compare.bench import Bench, Scale
from benchmarks.compare.load_kind import Load, Measured
from benchmarks.compare.server_process import METADATA_VERSION
from strandline.wire.messages.metadata import MetadataRequest

DESCRIPTORS = 4_096
_groups = count(1)


@dataclass(frozen=True, kw_only=True)
class IdleConnections(Load):
    connections: int
    rounds_max: int = 5

    def turn(self, bench: Bench) -> Measured:
        """Each has asked once, and now waits; beside them one client works."""
        _allow_descriptors()
        request = load.framed(MetadataRequest([]), METADATA_VERSION)
        with ExitStack() as stack, bench.topic() as topic:
            for _ in range(self.connections):
                load.ask(stack.enter_context(load.connect(bench.side.port)), request)
            idle_s = bench.scale.some(5, 1)
            before_s = bench.side.cpu_s()
            time.sleep(idle_s)
            idle = (bench.side.cpu_s() - before_s) / idle_s * 1e3
            requests = bench.scale.some(3_000, 500)
            ran = bench.run({"do": "ask", "topic": topic, "port": bench.side.port, "requests": requests})
        return {
            "cpu_ms_per_1000_requests": ran.cpu_s * 1e6 / requests,
            "idle_cpu_ms_per_s": idle,
            "p50_ms": ran.results[0]["p50_ms"],
            "p99_ms": ran.results[0]["p99_ms"],
            "resident_mb": bench.side.resident_bytes() / 1e6,
        }


@dataclass(frozen=True, kw_only=True)
class ManyTopics(Load):
    title: str = ""
    topics: int
    rounds_max: int = 3

    def title_at(self, scale: Scale) -> str:
        return f"{self._topics(scale):,} topics created and deleted"

    def turn(self, bench: Bench) -> Measured:
        """Created by requests of 200 each, then deleted in the same way, until no folder has their names any more:
        Kafka answers before that."""
        begun_s, begun_cpu_s = time.perf_counter(), bench.side.cpu_s()
        names = bench.create(self._topics(bench.scale))
        created_s, created_cpu_s = time.perf_counter(), bench.side.cpu_s()
        bench.delete(names)
        bench.wait_until_gone(names)
        return {
            "cpu_s": created_cpu_s - begun_cpu_s,
            "seconds": created_s - begun_s,
            "deletion_cpu_s": bench.side.cpu_s() - created_cpu_s,
            "deletion_s": time.perf_counter() - created_s,
        }

    def _topics(self, scale: Scale) -> int:
        return scale.some(self.topics, self.topics // 5)


@dataclass(frozen=True, kw_only=True)
class Rebalance(Load):
    members: int
    protocol: str
    rounds_max: int = 3

    def turn(self, bench: Bench) -> Measured:
        """All join at once, then one leaves; the clients' own back-offs are part of the time on both sides."""
        partitions = 2 * self.members
        with bench.topic(partitions) as topic:
            ran = bench.run(
                {
                    "do": "join",
                    "topic": topic,
                    "partitions": partitions,
                    "members": self.members,
                    "protocol": self.protocol,
                    "group": f"group-{next(_groups)}",
                }
            )
        (result,) = ran.results
        return {"cpu_s": ran.cpu_s, "joined_s": result["joined_s"], "left_s": result["left_s"]}


@dataclass(frozen=True, kw_only=True)
class Held(Load):
    """The last of all: what the processes have grown to, after every load before."""

    rounds_max: int = 3

    def turn(self, bench: Bench) -> Measured:
        time.sleep(bench.scale.some(2, 1))
        return {"resident_mb": bench.side.resident_bytes() / 1e6}


def _allow_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        most = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


LOADS: list[Load] = [
    IdleConnections(name="idle-500", title="beside 500 idle connections", connections=500),
    ManyTopics(name="topics-1000", topics=1_000),
    Rebalance(
        name="rebalance-classic",
        title="a group of 20 joins, 1 leaves (classic)",
        members=20,
        protocol="classic",
        note="the times are settings, not speed: both wait 3 s for others to join a new group, and again while some "
        "do; librdkafka's members hear of a change at their next heartbeat, every 3 s",
    ),
    Rebalance(
        name="rebalance-848",
        title="a group of 20 joins, 1 leaves (KIP-848)",
        members=20,
        protocol="consumer",
        note="the times are settings, not speed: members hear of a change at their next heartbeat, every 5 s on both "
        "sides",
    ),
    Held(name="memory-loaded", title="memory after all these loads"),
]
