"""Before the first row each side works for a given time: caches fill, and a JVM compiles what it will need."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from benchmarks.compare.bench import Bench
from benchmarks.compare.side import Side

WARM_REQUESTS = 10_000
WARM_RECORDS = 100_000
ROUNDS_MIN = 4  # also where no time is given

WarmOnce = Callable[[Side], float]  # does a piece of work, and says what it cost the side's brokers


def warm(sides: Sequence[Side], warm_s: float, warm_once: WarmOnce) -> str:
    """Every side the same pieces of work in turns, until each has been under load for so long. What came of it."""
    costs: dict[str, list[float]] = {side.name: [] for side in sides}
    loaded_s = dict.fromkeys(costs, 0.0)
    while min(loaded_s.values()) < warm_s or min(map(len, costs.values())) < ROUNDS_MIN:
        for side in sides:
            begun_s = time.perf_counter()
            costs[side.name].append(warm_once(side))
            loaded_s[side.name] += time.perf_counter() - begun_s
    return "; ".join(
        f"{name} was loaded for {loaded_s[name]:.0f} s in {len(found)} pieces, the first at {found[0]:.2f} CPU s, "
        f"the last three at {' '.join(f'{cost:.2f}' for cost in found[-3:])}"
        for name, found in costs.items()
    )


def warm_once(bench: Bench) -> float:
    """Requests as they are, tiny ones that wait, librdkafka's records, and all of them read again."""
    before_s = bench.side.cpu_s()
    with bench.topic() as topic:
        raw = {"topic": topic, "port": bench.leader_port(topic)}
        bench.run({"do": "flood", "requests": WARM_REQUESTS, "connections": 4, "window": 5, **raw})
        bench.run({"do": "ask", "requests": WARM_REQUESTS // 5, **raw})
        bench.run({"do": "produce", "topic": topic, "partitions": [0], "records": WARM_RECORDS, "record_bytes": 1024})
        bench.run({"do": "consume", "topic": topic, "partitions": [0], "records": WARM_RECORDS})
    return bench.side.cpu_s() - before_s
