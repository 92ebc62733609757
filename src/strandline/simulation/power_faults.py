"""Faults of power: what a machine had in its page cache is gone, in part or as a whole; and a bit of the rest may rot.

Only where two others have everything, and nothing else happens until it is known who has what: a record that is on one
disk alone, and there not synced, nobody can keep (KIP-966). Nor could anybody keep one whose only other copies rot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.simulation.machine import DATA, Machine
from strandline.simulation.rot import rot_one_bit

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis

PATIENCE_US = 2_000_000


class PowerFaults:
    def __init__(self, nemesis: Nemesis) -> None:
        self._nemesis = nemesis
        self._simulation = nemesis.simulation
        self._chance = nemesis.chance
        self.without_power: Machine | None = None  # what it had in its page cache is gone

    @property
    def is_busy(self) -> bool:
        return self.without_power is not None and not self._is_past(self.without_power)

    def lose_power(self) -> None:
        if self._simulation.is_flushed:
            self._lose_it_anywhere()
            return
        machine = self._nemesis.leader()
        if not self._may_lose_power(machine):
            return
        self.without_power = machine
        if self._chance.random() < 0.5:
            self._tell_loss(machine)
            machine.lose_power()
        else:
            operations = self._chance.randint(0, 60)
            self._nemesis.armed("lose_power", f"{machine.name}, after {operations} changes to its files")
            machine.lose_power_after(operations, lambda: self._tell_loss(machine))
            self._simulation.world.after(PATIENCE_US, lambda: self._lose_it_now(machine))

    def rot(self) -> None:
        """With the power, and above a recovery point: below it nobody looks, and what rots there is found by readers.
        Where everything is flushed, more would be lost than may be."""
        machine = self._nemesis.leader()
        if self._simulation.is_flushed or not self._may_lose_power(machine):
            return
        self.without_power = machine
        machine.lose_power()
        rotten = rot_one_bit(machine.disk, DATA, self._chance)
        if rotten is None:
            self._tell_loss(machine)
        else:
            self._nemesis.struck("rot", f"{machine.name}, {rotten}, {self._nemesis.start_later(machine, 0.1, 15)}")

    def _lose_it_anywhere(self) -> None:
        """Where everything is flushed before it counts: one machine, or all at once."""
        machines = self._simulation.machines if self._chance.random() < 0.5 else [self._nemesis.leader()]
        for machine in machines:
            if machine.is_up:
                self._tell_loss(machine)
                machine.lose_power()

    def _lose_it_now(self, machine: Machine) -> None:
        """One that has nothing to do with its files would lose it at any time, when others are not there."""
        if machine.dies_of_power_loss and machine.is_up:
            if self._may_lose_power(machine):
                self._tell_loss(machine)
                machine.lose_power()
            else:
                machine.keep_power()

    def _tell_loss(self, machine: Machine) -> None:
        self._nemesis.struck("lose_power", f"{machine.name}, {self._nemesis.start_later(machine, 0.1, 15)}")

    def _may_lose_power(self, machine: Machine) -> bool:
        if not self._simulation.all_are_serving:
            return False
        for truth in self._simulation.observer.living:
            safe = [
                member
                for member in (truth.stored.isr if truth.stored is not None else ())
                if member != machine.broker_id and not truth.replica(member).has_lost_power
            ]
            if len(safe) < 2:
                return False
        return self._simulation.network.is_whole

    def _is_past(self, machine: Machine) -> bool:
        if not machine.is_serving or machine.dies_of_power_loss:
            return False
        replicas = [truth.replica(machine.broker_id) for truth in self._simulation.observer.living]
        return not any(replica.has_lost_power for replica in replicas)
