"""The last phase of a run: everything is mended, and within `HEAL_S` clients must get on and come to their end, every
replica must be in sync with the same log, every broker must know who leads, and each load has what it was promised."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from strandline.simulation.observed import PartitionTruth

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

SECOND_US = 1_000_000
# For the whole of it. The longest patience that may have to end first is that with a transaction which nobody ends:
# 30 s. Of sixty runs, some with seven loads at once, the longest took 71 s.
HEAL_S = 120


class Healing:
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._loads = simulation.loads
        self._end_us = simulation.world.now_us + HEAL_S * SECOND_US

    def run(self) -> None:
        """Raises `Violation`."""
        simulation = self._simulation
        simulation.world.tell("heal")
        simulation.nemesis.end()
        self._get_on()
        self._come_to_rest()
        simulation.checks.at_rest()

    def _get_on(self) -> None:
        for load in self._loads:
            load.heal()
        self._wait_until(lambda: all(load.has_got_on() for load in self._loads), "clients do not get on")

    def _come_to_rest(self) -> None:
        for load in self._loads:
            load.stop()
        self._wait_until(lambda: all(load.is_done() for load in self._loads), "clients do not come to their end")
        self._wait_until(self._is_whole, "replicas do not come together again")
        self._wait_until(self._is_known, "some broker does not know who leads")
        for load in self._loads:
            self._wait_until(load.is_settled, f"the load of {load.name} is not settled")

    def _wait_until(self, holds: Callable[[], bool], otherwise: str) -> None:
        self._simulation.run_until(holds, self._end_us, f"{otherwise} within {HEAL_S} s after everything was mended")

    def _is_whole(self) -> bool:
        """What is known of a broker that is away may be of before it lost power."""
        return self._simulation.all_are_serving and all(is_whole(truth) for truth in self._simulation.observer.living)

    def _is_known(self) -> bool:
        """Whether every broker would tell clients what is true."""
        for truth in self._simulation.observer.living:
            if truth.stored is None:
                continue
            true = (truth.stored.leader, truth.stored.leader_epoch)
            for machine in self._simulation.machines:
                image = getattr(machine.broker, "image", None)  # none yet of a broker that is still being opened
                topic = image.topics.get(truth.name.topic) if image is not None else None
                known = None if topic is None else topic.partitions.get(truth.name.partition)
                if known is None or (known.leader_id, known.leader_epoch) != true:
                    return False
        return True


def is_whole(truth: PartitionTruth) -> bool:
    """All its replicas are in sync, and have the same."""
    if truth.stored is None or sorted(truth.stored.isr) != sorted(truth.assigned):
        return False
    ends = {truth.replica(broker_id).log_end_offset for broker_id in truth.assigned}
    return len(ends) == 1 and all(truth.lacks(truth.replica(each)) is None for each in truth.assigned)
