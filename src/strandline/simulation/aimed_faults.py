"""Faults that are aimed: each brings about one situation that chance would seldom find.

lose_answer    a write to the store is done, and the connection breaks before anybody says so
slow_store     a leader hears late from the store, while a follower of it is slow
lag_follower   a follower is cut off from the other brokers and from nobody else: what the others lead must go on
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.simulation.machine import Machine
from strandline.simulation.simulated_store import STORE

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis

SECOND_US = 1_000_000
LAG_S = 45  # the longest lag that is allowed, the longest pause of a producer, its patience, and some more
STORE_DELAY_US = 4 * SECOND_US
FOLLOWER_DELAY_US = 400_000


class AimedFaults:
    def __init__(self, nemesis: Nemesis) -> None:
        self._nemesis = nemesis
        self._simulation = nemesis.simulation
        self._world = self._simulation.world
        self._network = self._simulation.network
        self._chance = self._world.chance("aimed faults")
        self.is_busy = False  # so that nothing else may happen

    def lose_answer(self) -> None:
        links = list(self._simulation.store.links.values())
        if links:
            self._chance.choice(links).loses_next_answer = True

    def slow_store(self) -> None:
        leader = self._nemesis.leader()
        follower = self._chance.choice([machine for machine in self._simulation.machines if machine is not leader])
        self._network.slow_down(STORE, leader.name, STORE_DELAY_US)
        self._network.slow_down(follower.name, leader.name, FOLLOWER_DELAY_US)
        self._nemesis.later(self._network.mend, 5, 20)

    def lag_follower(self) -> bool:
        """Only in a cluster that is whole, and nothing else happens meanwhile."""
        if not self._simulation.is_calm:
            return False
        machine = self._chance.choice(self._simulation.machines)
        for other in self._simulation.machines:
            if other is not machine:
                self._network.cut(machine.name, other.name)
                self._network.cut(other.name, machine.name)
        began_us, lives, self.is_busy = self._world.now_us, self._lives(), True

        def look() -> None:
            self.is_busy = False
            if self._lives() == lives and all(each.is_serving for each in self._simulation.machines):
                self._expect_progress(machine, began_us)
            self._network.mend()

        self._world.after(LAG_S * SECOND_US, look)
        return True

    def _lives(self) -> list[int]:
        return [machine.lives for machine in self._simulation.machines]

    def _expect_progress(self, lagging: Machine, began_us: int) -> None:
        leaders = {
            truth.name: truth.stored.leader
            for truth in self._simulation.observer.partitions.values()
            if truth.stored is not None
        }
        for producer in self._simulation.producers:
            led_elsewhere = leaders[producer.partition] not in (lagging.broker_id, -1)
            if producer.is_idempotent and led_elsewhere and producer.last_acknowledged_us <= began_us:
                self._simulation.complain(
                    "Progress",
                    f"{producer.name} was told nothing within {LAG_S} s, while one follower alone was cut off,"
                    f" {lagging.name}",
                )
