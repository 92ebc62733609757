"""From the command to the first answer, and what a broker is that has done nothing yet."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from benchmarks.compare import processes
from benchmarks.compare.bench import Scale
from benchmarks.compare.brokers import Starter
from benchmarks.compare.load_kind import Load, Measured, Stage


@dataclass(frozen=True, kw_only=True)
class Start(Load):
    stage: Stage = field(default=Stage.UNSTARTED)

    def measure(self, starter: Starter, scale: Scale) -> Measured:
        with starter() as broker:
            before_s, idle_s = processes.cpu_s([broker.pid]), scale.some(5, 2)
            time.sleep(idle_s)
            return {
                "cpu_s": broker.ready_cpu_s,
                "seconds": broker.ready_s,
                "idle_cpu_ms_per_s": (processes.cpu_s([broker.pid]) - before_s) / idle_s * 1e3,
                "resident_mb": processes.resident_bytes([broker.pid]) / 1e6,
            }


LOADS: list[Load] = [Start(name="start", title="start-up, and a broker that has nothing to do", rounds_max=5)]
