"""The enemy: chooses faults, one after another, within what a correct cluster must survive.

Between faults it leaves some time, and at the end of each it mends what it broke, and only that: faults overlap. Now
and then it leaves enough for everything to come to rest: what a fault does to a cluster that is whole is another thing.

What it does is told: a fault when it takes effect, and is counted then (`struck`); one that waits for its moment as
`armed`; what was mended as `mended`. A fault that is drawn where it would do nothing, or more than anybody could
survive, is passed over, and soon another is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from strandline.simulation.aimed_faults import AimedFaults
from strandline.simulation.clock_faults import ClockFaults
from strandline.simulation.disk_faults import DiskFaults
from strandline.simulation.durations import SECOND_US, in_seconds
from strandline.simulation.machine import Machine
from strandline.simulation.network_faults import NetworkFaults
from strandline.simulation.power_faults import PowerFaults
from strandline.simulation.process_faults import ProcessFaults
from strandline.simulation.store_faults import StoreFaults

if TYPE_CHECKING:
    from strandline.simulation.simulation import Simulation

QUIET_SHARE = 0.1
QUIET_S = (20, 50)
SUPERVISED_S = (10, 20)  # who is down at two looks, and by no fault that will start it, is started


class Nemesis:
    def __init__(self, simulation: Simulation, names: tuple[str, ...]) -> None:
        self.simulation = simulation
        self.chance = simulation.world.chance("nemesis")
        self._world = simulation.world
        self._patience = simulation.world.chance("supervisor")
        self._machines = simulation.machines
        self._awaited: set[tuple[str, int]] = set()  # lives that ended, and after which a fault will start the next
        self._is_at_work = True
        self._has_acted = False
        self.injected: Counter[str] = Counter()
        self.aimed = AimedFaults(self)
        self.power = PowerFaults(self)
        kinds = (
            ProcessFaults(self),
            self.power,
            DiskFaults(self),
            ClockFaults(self),
            NetworkFaults(self),
            StoreFaults(self),
            self.aimed,
        )
        self._faults: dict[str, Callable[[], object]] = {
            name: next(getattr(kind, name) for kind in kinds if hasattr(kind, name)) for name in names
        }

    def start(self) -> None:
        if self._faults:
            self.later(self._strike, 0.5, 4)
            self._supervise({})

    def end(self) -> None:
        """No more of it; what is broken is mended."""
        self._is_at_work = False
        self.simulation.network.mend_all()
        for machine in self._machines:
            machine.slow_disk_us = machine.slow_sending_us = 0
            machine.set_clock(0)
            machine.disk.make_room()
            machine.disk.let_go()
            machine.resume()
        self._keep_up()

    def _keep_up(self) -> None:
        for machine in self._machines:
            machine.start()
        self.later(self._keep_up, 1, 2)

    def _supervise(self, were_down: dict[Machine, int]) -> None:
        """Whoever has been down for a while is started, as a supervisor of processes would do it: one that could not
        reach the store when a fault let it start, or died of a fault only after that, would be away for good.
        A life that came and ended between two looks has only just ended."""
        if not self._is_at_work:
            return
        for machine, life in were_down.items():
            if machine.lives == life:
                machine.start()
        down = {machine: machine.lives for machine in self._machines if self._is_down_for_good(machine)}
        pause_us = int(self._patience.uniform(*SUPERVISED_S) * SECOND_US)
        self._world.after(pause_us, lambda: self._supervise(down))

    def _is_down_for_good(self, machine: Machine) -> bool:
        return not machine.is_up and (machine.name, machine.lives) not in self._awaited

    def _strike(self) -> None:
        if not self._is_at_work:
            return
        if self.aimed.is_busy or self.power.is_busy:
            self.later(self._strike, 0.2, 2)
            return
        quiet_us = self._world.seasons.quiet_left_us(self._world.now_us)
        if quiet_us:
            self._world.after(quiet_us, self._strike)
            return
        self._has_acted = False
        self._faults[self.chance.choice(list(self._faults))]()
        if not self._has_acted:
            self.later(self._strike, 0.2, 2)
        elif self.chance.random() < QUIET_SHARE and not self._world.seasons.has_quiet_times:
            self.later(self._strike, *QUIET_S)
        else:
            self.later(self._strike, 0.2, 12)

    # What faults tell, and what they leave for later.

    def struck(self, name: str, what: str) -> None:
        self._tell(f"fault: {name} {what}")
        self.injected[name] += 1

    def armed(self, name: str, what: str) -> None:
        self._tell(f"armed: {name} {what}")

    def _tell(self, line: str) -> None:
        self._has_acted = True
        self._world.tell(line)

    def struck_for(self, name: str, what: str, mend: Callable[[], bool], least_s: float, most_s: float) -> None:
        """`mend` says whether there was anything left to mend."""
        lasts_us = self.draw_us(least_s, most_s)
        self.struck(name, f"{what} for {in_seconds(lasts_us)}")
        self.mend_after(lasts_us, name, what, mend)

    def mend_after(self, delay_us: int, name: str, what: str, mend: Callable[[], bool]) -> None:
        def end() -> None:
            if mend():
                self._world.tell(f"mended: {name} {what}")

        self._world.after(delay_us, end)

    def draw_us(self, least_s: float, most_s: float) -> int:
        return int(self.chance.uniform(least_s, most_s) * SECOND_US)

    def later(self, callback: Callable[[], object], least_s: float, most_s: float) -> None:
        self._world.after(self.draw_us(least_s, most_s), callback)

    def start_later(self, machine: Machine, least_s: float, most_s: float) -> str:
        """After this life, and after no other: a later one ends by a fault of its own. Says when."""
        life, pause_us = machine.lives, self.draw_us(least_s, most_s)
        self._awaited.add((machine.name, life))

        def start() -> None:
            self._awaited.discard((machine.name, life))
            if machine.lives == life:
                machine.start()

        self._world.after(pause_us, start)
        return f"to be started after {in_seconds(pause_us)}"

    def pause(self, machine: Machine, lasts_us: int) -> None:
        """One that stands still already has somebody else who wakes it."""
        if machine.pause():
            host = machine.host
            self._world.after(lasts_us, lambda: machine.resume() if machine.host is host else None)

    # Whom they meet.

    def machine(self) -> Machine:
        return self.chance.choice(self._machines)

    def leader(self) -> Machine:
        """Of some partition, if there is one; leaders are where it hurts."""
        leaders = [
            truth.stored.leader
            for truth in self.simulation.observer.living
            if truth.stored is not None and truth.stored.leader >= 0
        ]
        if leaders and self.chance.random() < 0.6:
            return self._machines[self.chance.choice(leaders) - 1]
        return self.machine()


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
    "rot",
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
FAULTS_BY_NAME = ("old_life", "old_markers", "depose", "set_clock")
