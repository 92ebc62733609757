"""Faults of the network: links are cut, in one direction or both, or slow. Each mends its own links (`Damage`)."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from strandline.simulation.damage import Damage
from strandline.simulation.simulated_store import STORE

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis


class NetworkFaults:
    def __init__(self, nemesis: Nemesis) -> None:
        self._nemesis = nemesis
        self._chance = nemesis.chance
        self._network = nemesis.simulation.network
        self._brokers = [machine.name for machine in nemesis.simulation.machines]

    def cut_off(self) -> None:
        """One broker from some or all of the others, in both directions or one."""
        name, damage = self._nemesis.leader().name, self._network.damage()
        for other in (*self._brokers, STORE):
            if other != name and self._chance.random() < 0.7:
                self._cut_one(damage, name, other)
        self._last("cut_off", damage, 0.5, 30)

    def cut_from_store(self) -> None:
        damage = self._network.damage()
        self._cut_one(damage, self._nemesis.leader().name, STORE)
        self._last("cut_from_store", damage, 0.5, 25)

    def ring(self) -> None:
        """Each reaches the next and nobody else."""
        following = dict(zip(self._brokers, self._brokers[1:] + self._brokers[:1], strict=True))
        damage = self._network.damage()
        for source, target in permutations(self._brokers, 2):
            if following[source] != target:
                damage.cut(source, target)
        self._last("ring", damage, 0.5, 20)

    def slow_network(self) -> None:
        damage = self._network.damage()
        for source, target in permutations((*self._brokers, STORE), 2):
            if self._chance.random() < 0.5:
                damage.slow_down(source, target, self._chance.choice((20_000, 400_000, 4_000_000)))
        self._last("slow_network", damage, 1, 20)

    def slow_sending(self) -> None:
        machine, delay_us = self._nemesis.machine(), self._chance.choice((5_000, 200_000, 2_000_000))
        if not machine.is_up or machine.slow_sending_us:
            return

        def mend() -> bool:
            was_slow, machine.slow_sending_us = machine.slow_sending_us > 0, 0
            return was_slow

        machine.slow_sending_us = delay_us
        self._nemesis.struck_for("slow_sending", f"{machine.name} by up to {delay_us // 1000} ms", mend, 1, 15)

    def _cut_one(self, damage: Damage, name: str, other: str) -> None:
        way = self._chance.randrange(3)
        if way != 1:
            damage.cut(name, other)
        if way != 2:
            damage.cut(other, name)

    def _last(self, fault: str, damage: Damage, least_s: float, most_s: float) -> None:
        """Where there are too few to break anything, nothing has happened."""
        if damage:
            self._nemesis.struck_for(fault, str(damage), damage.mend, least_s, most_s)
