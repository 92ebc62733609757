"""The enemy: chooses faults, one after another, within what a correct cluster must survive.

Between faults it leaves some time, and at the end of each it mends what it broke. Now and then it leaves enough for
everything to come to rest: what a fault does to a cluster that is whole is another thing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from typing import TYPE_CHECKING

from strandline.simulation.aimed_faults import AimedFaults
from strandline.simulation.machine import Machine
from strandline.simulation.simulated_store import STORE

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

SECOND_US = 1_000_000
POWER_PATIENCE_US = 2 * SECOND_US
QUIET_SHARE = 0.1
QUIET_S = (20, 50)
SUPERVISED_S = (10, 20)  # who is down at two looks is started
Fault = Callable[[], bool | None]  # False: not now


class Nemesis:
    def __init__(self, simulation: Simulation, names: tuple[str, ...]) -> None:
        self.simulation = simulation
        self._world = simulation.world
        self._network = simulation.network
        self._chance = simulation.world.chance("nemesis")
        self._patience = simulation.world.chance("supervisor")
        self._machines = simulation.machines
        self._is_at_work = True
        self.without_power: Machine | None = None  # what it had in its page cache is gone
        self.injected: Counter[str] = Counter()
        self.aimed = AimedFaults(self)
        self._faults: dict[str, Fault] = {
            name: getattr(self.aimed, name, None) or getattr(self, f"_{name}") for name in names
        }

    def start(self) -> None:
        if self._faults:
            self.later(self._strike, 0.5, 4)
            self._supervise([])

    def end(self) -> None:
        """No more of it; what is broken is mended."""
        self._is_at_work = False
        self._network.mend()
        for machine in self._machines:
            machine.slow_disk_us = machine.slow_sending_us = 0
            machine.disk.space_bytes_max = None
            machine.disk.let_go()
            machine.resume()
        self._keep_up()

    def _keep_up(self) -> None:
        for machine in self._machines:
            machine.start()
        self.later(self._keep_up, 1, 2)

    def _supervise(self, were_down: list[Machine]) -> None:
        """Whoever has been down for a while is started, as a supervisor of processes would do it: one that could not
        reach the store when a fault let it start, or died of a fault only after that, would be away for good."""
        if not self._is_at_work:
            return
        for machine in were_down:
            machine.start()
        down = [machine for machine in self._machines if not machine.is_up]
        pause_us = int(self._patience.uniform(*SUPERVISED_S) * SECOND_US)
        self._world.after(pause_us, lambda: self._supervise(down))

    def later(self, callback: Callable[[], None], least_s: float, most_s: float) -> None:
        self._world.after(int(self._chance.uniform(least_s, most_s) * SECOND_US), callback)

    def _strike(self) -> None:
        if not self._is_at_work:
            return
        if self.aimed.is_busy or (self.without_power is not None and not self._is_past(self.without_power)):
            self.later(self._strike, 0.2, 2)
            return
        quiet_us = self._world.seasons.quiet_left_us(self._world.now_us)
        if quiet_us:
            self._world.after(quiet_us, self._strike)
            return
        name = self._chance.choice(list(self._faults))
        self._world.tell(f"fault: {name}")
        if self._faults[name]() is not False:
            self.injected[name] += 1
        if self._chance.random() < QUIET_SHARE and not self._world.seasons.has_quiet_times:
            self.later(self._strike, *QUIET_S)
        else:
            self.later(self._strike, 0.2, 12)

    def _machine(self) -> Machine:
        return self._chance.choice(self._machines)

    def leader(self) -> Machine:
        """Of some partition, if there is one; leaders are where it hurts."""
        leaders = [
            truth.stored.leader
            for truth in self.simulation.observer.living
            if truth.stored is not None and truth.stored.leader >= 0
        ]
        if leaders and self._chance.random() < 0.6:
            return self._machines[self._chance.choice(leaders) - 1]
        return self._machine()

    # Processes.

    def _kill(self) -> None:
        machine = self.leader()
        machine.kill()
        self.later(machine.start, 0.1, 15)

    def _kill_amid_files(self) -> None:
        machine = self.leader()
        machine.die_after(self._chance.randint(0, 60))
        self.later(machine.start, 5, 20)

    def _kill_all(self) -> None:
        for machine in self._machines:
            machine.kill()
            self.later(machine.start, 0.1, 10)

    def _stop(self) -> None:
        machine = self.leader()
        machine.stop()
        self.later(machine.start, 0.5, 15)

    def _pause(self) -> None:
        machine = self.leader()
        machine.pause()
        self.later(machine.resume, 0.1, 25)

    # Power and disks.

    def _lose_power(self) -> bool:
        """Only where two others have everything, and nothing else happens until it is known who has what: a record that
        is on one disk alone, and there not synced, nobody can keep (KIP-966)."""
        if self.simulation.is_flushed:
            return self._lose_power_anywhere()
        machine = self.leader()
        if not self._may_lose_power(machine):
            return False
        if self._chance.random() < 0.5:
            machine.lose_power()
        else:
            machine.lose_power_after(self._chance.randint(0, 60))
            self._world.after(POWER_PATIENCE_US, lambda: self._lose_it_now(machine))
        self.without_power = machine
        self.later(machine.start, 0.1, 15)
        self.later(machine.start, 15, 20)
        return True

    def _lose_power_anywhere(self) -> bool:
        """Where everything is flushed before it counts: one machine, or all at once."""
        machines = self._machines if self._chance.random() < 0.5 else [self.leader()]
        for machine in machines:
            machine.lose_power()
            self.later(machine.start, 0.1, 15)
        return True

    def _lose_it_now(self, machine: Machine) -> None:
        """One that has nothing to do with its files would lose it at any time, when others are not there."""
        if machine.dies_of_power_loss and machine.is_up:
            if self._may_lose_power(machine):
                machine.lose_power()
            else:
                machine.keep_power()

    def _may_lose_power(self, machine: Machine) -> bool:
        if not self.simulation.all_are_serving:
            return False
        for truth in self.simulation.observer.living:
            safe = [
                member
                for member in (truth.stored.isr if truth.stored is not None else ())
                if member != machine.broker_id and not truth.replica(member).has_lost_power
            ]
            if len(safe) < 2:
                return False
        return self._network.is_whole

    def _is_past(self, machine: Machine) -> bool:
        if not machine.is_serving or machine.dies_of_power_loss:
            return False
        replicas = [truth.replica(machine.broker_id) for truth in self.simulation.observer.living]
        return not any(replica.has_lost_power for replica in replicas)

    def _failing_disk(self) -> None:
        """Once; the broker has to give up its directory, and with it itself."""
        machine = self.leader()
        operation = self._chance.choice(("append", "sync", "sync", "truncate", "rename", "read", "open"))
        machine.disk.fail_next(operation, after=self._chance.randint(0, 30))
        self.later(machine.start, 5, 20)

    def _full_disk(self) -> None:
        machine = self.leader()
        machine.disk.space_bytes_max = machine.disk.used_bytes + self._chance.randint(0, 2_000)

        def make_room() -> None:
            machine.disk.space_bytes_max = None
            machine.start()

        self.later(make_room, 2, 20)

    # The network.

    def _cut_off(self) -> None:
        """One broker from some or all of the others, in both directions or one."""
        name, others = self.leader().name, self._others()
        for other in others:
            if self._chance.random() < 0.7:
                self._cut_one(name, other)
        self.later(self._network.mend, 0.5, 30)

    def _cut_one(self, name: str, other: str) -> None:
        way = self._chance.randrange(3)
        if name == other:
            return
        if way != 1:
            self._network.cut(name, other)
        if way != 2:
            self._network.cut(other, name)

    def _others(self) -> list[str]:
        return [machine.name for machine in self._machines] + [STORE]

    def _cut_from_store(self) -> None:
        self._cut_one(self.leader().name, STORE)
        self.later(self._network.mend, 0.5, 25)

    def _ring(self) -> None:
        """Each reaches the next and nobody else."""
        names = [machine.name for machine in self._machines]
        following = dict(zip(names, names[1:] + names[:1], strict=True))
        for source, target in permutations(names, 2):
            if following[source] != target:
                self._network.cut(source, target)
        self.later(self._network.mend, 0.5, 20)

    def _slow_network(self) -> None:
        for source, target in permutations(self._others(), 2):
            if self._chance.random() < 0.5:
                self._network.slow_down(source, target, self._chance.choice((20_000, 400_000, 4_000_000)))
        self.later(self._network.mend, 1, 20)

    # The store.

    def _sever_session(self) -> None:
        links = list(self.simulation.store.links.values())
        if links:
            self._chance.choice(links).sever()

    def _expire_session(self) -> None:
        sessions = list(self.simulation.store.links)
        if sessions:
            self.simulation.store.expire(self._chance.choice(sessions))

    # Disks.

    def _slow_disk(self) -> None:
        machine = self._machine()
        machine.slow_disk_us = self._chance.choice((20_000, 500_000, 5_000_000))

        def mend() -> None:
            machine.slow_disk_us = 0

        self.later(mend, 1, 15)

    def _slow_sending(self) -> None:
        machine = self._machine()
        machine.slow_sending_us = self._chance.choice((5_000, 200_000, 2_000_000))

        def mend() -> None:
            machine.slow_sending_us = 0

        self.later(mend, 1, 15)


FAULTS = (
    "kill",
    "kill_amid_files",
    "kill_all",
    "stop",
    "pause",
    "cut_off",
    "cut_from_store",
    "ring",
    "slow_network",
    "sever_session",
    "expire_session",
    "slow_disk",
    "slow_sending",
    "lose_power",
    "failing_disk",
    "full_disk",
    "lose_answer",
    "slow_store",
    "lag_follower",
    "die_at_commit",
    "zombie",
    "slow_client",
)
# Only where somebody asks for them: with more to choose from every seed would be another run.
FAULTS_BY_NAME = ("old_life", "old_markers")
