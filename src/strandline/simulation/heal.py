"""The last phase of a run: everything is mended, and the cluster must get on and come to rest as it should."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.simulation.observed import PartitionTruth

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

HEAL_S = 120


class Healing:
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._loads = simulation.loads

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
        self._simulation.run_until(
            lambda: all(load.has_got_on() for load in self._loads),
            HEAL_S,
            "producers do not get on after everything was mended",
        )

    def _come_to_rest(self) -> None:
        run_until = self._simulation.run_until
        for load in self._loads:
            load.stop()
        run_until(lambda: all(load.is_done() for load in self._loads), HEAL_S, "producers do not come to their end")
        run_until(self._is_whole, HEAL_S, "replicas do not come together again")
        run_until(self._is_known, HEAL_S, "some broker does not know who leads")
        for load in self._loads:
            run_until(load.is_settled, HEAL_S, f"the load of {load.name} is not settled")

    def _is_whole(self) -> bool:
        return all(is_whole(truth) for truth in self._simulation.observer.living)

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
