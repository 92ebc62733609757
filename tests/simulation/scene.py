"""A cluster of the simulator for tests that decide themselves what breaks, and when."""

from __future__ import annotations

from collections.abc import Callable

from strandline.simulation.nemesis import FAULTS, FAULTS_BY_NAME, Nemesis
from strandline.simulation.options import Options
from strandline.simulation.seasons import SECOND_US
from strandline.simulation.simulation import Simulation

LONGEST_FAULT_S = 60


class Scene:
    """A cluster that is up, has a topic and clients, and faults that strike when the test says so."""

    def __init__(self, *, brokers: int = 3) -> None:
        self.simulation = Simulation(Options(seed=1, brokers=brokers, faults=()), transcript_lines_max=None)
        self.simulation._start()
        self.run_until(lambda: self.simulation.is_calm)
        self.network, self.machines = self.simulation.network, self.simulation.machines
        self.nemesis = Nemesis(self.simulation, (*FAULTS, *FAULTS_BY_NAME))

    def strike(self, name: str) -> None:
        self.nemesis._faults[name]()

    def run_until(self, holds: Callable[[], bool]) -> None:
        end_us = self.simulation.world.now_us + LONGEST_FAULT_S * SECOND_US
        self.simulation.run_until(holds, end_us, "it did not happen")

    def run_for(self, seconds: int) -> None:
        self.simulation._run_for(seconds)

    @property
    def told(self) -> list[str]:
        """What the nemesis did, without times."""
        lines = [line.split(maxsplit=2)[2] for line in self.simulation.world.transcript]
        return [line for line in lines if line.startswith(("fault: ", "armed: ", "mended: "))]
