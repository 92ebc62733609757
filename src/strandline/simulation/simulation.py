"""One run: a cluster of real brokers in a simulated world, load, faults, and every invariant after every step.

start      brokers come up one after another, topics are created
faults     clients write and read while the nemesis works
heal       everything is mended; what was promised must be there, and all must go on within `HEAL_S` (`heal`)
"""

from __future__ import annotations

from collections.abc import Callable

from strandline.simulation.administrator import Administrator
from strandline.simulation.checks import Checks
from strandline.simulation.cluster_properties import SESSION_TIMEOUT_MS, properties_of
from strandline.simulation.failure import OutOfSteps
from strandline.simulation.heal import Healing
from strandline.simulation.history import History
from strandline.simulation.load import FLUSHES, WantedTopic
from strandline.simulation.loads import KINDS
from strandline.simulation.machine import Machine
from strandline.simulation.nemesis import FAULTS, Nemesis
from strandline.simulation.network import Network
from strandline.simulation.observer import Observer
from strandline.simulation.options import Options
from strandline.simulation.producers import Producer
from strandline.simulation.seasons import Seasons
from strandline.simulation.simulated_store import SimulatedStore
from strandline.simulation.unforeseen import Unforeseen
from strandline.simulation.world import World

SECOND_US = 1_000_000
START_S = 60
STEPS_PER_MOMENT_MAX = 20_000


class Simulation:
    def __init__(self, options: Options, *, transcript_lines_max: int | None = 400) -> None:
        self.options = options
        self.steps_max = options.steps_max  # whoever looks on may end it sooner
        self.world = World(options.seed, transcript_lines_max=transcript_lines_max)
        self.network = Network(self.world, self.world.chance("network"))
        self.store = SimulatedStore(
            self.world, self.network, self.world.chance("store"), session_timeout_ms=SESSION_TIMEOUT_MS
        )
        properties = properties_of(options, self.world.chance("properties"))
        self.machines = [
            Machine(self.world, self.network, self.store, broker_id, properties)
            for broker_id in range(1, options.brokers + 1)
        ]
        self.is_flushed = FLUSHES in options.load  # so that nothing is lost with the power
        self.names = tuple(machine.name for machine in self.machines)
        self.observer = Observer(self.store)
        self.history = History()
        self.nemesis = Nemesis(self, FAULTS if options.faults is None else options.faults)
        self.producers: list[Producer] = []  # of plain records, at which faults are aimed
        self.unforeseen = Unforeseen(self.world)
        self.loads = [KINDS[name](self) for name in options.load]
        self.checks = Checks(self)
        self._moment_us = self._moment_step = 0

    def run(self) -> None:
        """Raises `Violation`."""
        with self.unforeseen:
            self._start()
            self.world.seasons = Seasons(self.world.chance("seasons"), self.world.now_us, self.options.seconds)
            self._run_for(self.options.seconds)
            Healing(self).run()

    def complain(self, invariant: str, sentence: str) -> None:
        self.checks.complain(invariant, sentence)

    @property
    def all_are_serving(self) -> bool:
        return all(
            machine.is_serving and machine.host is not None and not machine.host.is_paused for machine in self.machines
        )

    @property
    def is_calm(self) -> bool:
        """Nothing is broken, and everybody is in sync."""
        return (
            self.all_are_serving
            and self.network.is_whole
            and all(
                truth.stored is not None and len(truth.stored.isr) == len(truth.assigned)
                for truth in self.observer.living
            )
        )

    # The beginning.

    def _start(self) -> None:
        for number, machine in enumerate(self.machines):
            self.world.after(number * SECOND_US, machine.start)
        wanted = [topic for load in self.loads for topic in load.topics]
        for number, topic in enumerate(wanted):
            self._create(topic, "administrator" if number == 0 else f"administrator {number}")
        for load in self.loads:
            load.start()
        self.nemesis.start()

    def _create(self, topic: WantedTopic, name: str) -> None:
        ready: list[str] = []
        administrator = Administrator(self.world, self.network, name, self.names)
        administrator.begin(
            administrator.create(
                topic.name,
                topic.partitions,
                min(topic.replicas, self.options.brokers) or self.options.brokers,
                topic.configs,
                lambda: ready.append(topic.name),
            )
        )
        end_us = self.world.now_us + START_S * SECOND_US
        self.run_until(lambda: bool(ready), end_us, f"{topic.name} was not created within {START_S} s")

    # Steps.

    def _run_for(self, seconds: int) -> None:
        end_us = self.world.now_us + seconds * SECOND_US
        while self.world.now_us < end_us:
            self.step()

    def run_until(self, holds: Callable[[], bool], end_us: int, otherwise: str) -> None:
        while not holds():
            if self.world.now_us > end_us:
                self.checks.fail("Progress", otherwise)
            self.step()

    def step(self) -> None:
        world = self.world
        if self.steps_max is not None and world.steps >= self.steps_max:
            raise OutOfSteps
        event = world.next_event()
        if event is None or event.callback is None:
            self.checks.fail("Progress", "nothing will ever happen again")
        if world.now_us == self._moment_us:
            self._check_time_passes()
        else:
            self._moment_us, self._moment_step = world.now_us, world.steps
        if event.process is None:
            event.callback()
        else:
            world.run(event.process, event.callback)
        self.checks.after_step()

    def _check_time_passes(self) -> None:
        """Whoever goes round and round within one moment would never end."""
        if self.world.steps - self._moment_step > STEPS_PER_MOMENT_MAX:
            self.checks.fail("Progress", f"more than {STEPS_PER_MOMENT_MAX} steps in one moment")
