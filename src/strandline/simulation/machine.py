"""A machine of the simulated cluster: a disk that outlives its processes, and one broker after another on it.

A broker ends in one of these ways: it is stopped; its process is killed, and the next finds the page cache as it was;
or the machine loses power, and the next finds what happened to be on the disk. A death may come in the middle of what
the broker does to its files (`die_after`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

from strandline.broker.broker import Broker
from strandline.broker.dispatch import Dispatch
from strandline.broker.network_settings import NetworkSettings
from strandline.broker.peers import LocalHandler
from strandline.broker.procedures import begin
from strandline.broker.registration import IdInUse
from strandline.client.settings import Address
from strandline.metadata.errors import StoreError
from strandline.model.failures import StorageFailed
from strandline.simulation.disk import PowerLost, SimulatedDisk
from strandline.simulation.network import Network
from strandline.simulation.simulated_host import SimulatedHost
from strandline.simulation.simulated_listener import SimulatedListener
from strandline.simulation.simulated_peers import SimulatedPeers
from strandline.simulation.simulated_store import SimulatedStore
from strandline.simulation.world import World

logger = logging.getLogger(__name__)

DATA = "/data"


class Surroundings:
    """Of one life of a broker."""

    def __init__(self, machine: Machine, host: SimulatedHost) -> None:
        self.host = host
        self.filesystem = machine.disk
        self._machine = machine

    def listener(self, settings: NetworkSettings, dispatch: Dispatch) -> SimulatedListener:
        machine = self._machine
        self.listening = SimulatedListener(
            machine.network, self.host, machine.name, settings, dispatch, machine.send_delay_us
        )
        return self.listening

    def peers(
        self, broker_id: int, address_of: Callable[[int], Address | None], local_handlers: dict[int, LocalHandler]
    ) -> SimulatedPeers:
        return SimulatedPeers(
            self._machine.network, self.host, self._machine.name, broker_id, address_of, local_handlers
        )


class MachineHost(SimulatedHost):
    """The process of one life."""

    machine: Machine

    def now_ms(self) -> int:
        return self.machine.now_ms()

    def run(self, callback: Callable[[], object]) -> None:
        machine = self.machine
        machine.has_acted = True
        machine.disk.now_ms = self.now_ms()
        try:
            callback()
        except PowerLost:
            machine.die()


class Machine:
    def __init__(
        self, world: World, network: Network, store: SimulatedStore, broker_id: int, properties: dict[str, str]
    ) -> None:
        self.world = world
        self.network = network
        self.broker_id = broker_id
        self.name = f"b{broker_id}"
        self.disk = SimulatedDisk()
        self.broker: Broker | None = None  # that runs
        self.host: SimulatedHost | None = None
        self.is_serving = False
        self.has_acted = False  # since somebody last looked
        self.obeyed_epoch = -1  # the newest controller's in this life
        self.lives = 0
        self.failure: BaseException | None = None  # that nobody foresaw
        self.dies_of_power_loss = False
        self.when_dying: Callable[[], object] | None = None  # in the middle of what it does to its files
        self.slow_disk_us = 0
        self.slow_sending_us = 0
        self.clock_leap_ms = 0  # by which its clock is wrong
        self.clock_set_us: int | None = None  # when somebody last did
        self._store = store
        self._properties = properties
        self._chance = world.chance(f"machine {broker_id}")
        self._thread_chance = world.chance(f"threads {broker_id}")
        self._surroundings: Surroundings | None = None

    @property
    def is_up(self) -> bool:
        return self.broker is not None

    @property
    def is_paused(self) -> bool:
        return self.host is not None and self.host.is_paused

    def thread_time_us(self) -> int:
        return 50 + int(self._thread_chance.random() * (3_000 + self.slow_disk_us))

    def send_delay_us(self) -> int:
        return self._thread_chance.randint(0, self.slow_sending_us) if self.slow_sending_us else 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """By somebody outside the world, who reads its disk, and to whom no fault happens."""
        self.disk.is_watched = True
        try:
            yield
        finally:
            self.disk.is_watched = False

    def now_ms(self) -> int:
        """By its clock."""
        return self.world.now_ms + self.clock_leap_ms

    def set_clock(self, leap_ms: int) -> None:
        if leap_ms != self.clock_leap_ms:
            self.clock_leap_ms, self.clock_set_us = leap_ms, self.world.now_us

    # Lives.

    def start(self) -> None:
        if self.broker is not None:
            return
        self.lives += 1
        self.obeyed_epoch = -1
        self.dies_of_power_loss = False
        self.network.powered[self.name] = True
        self.host = MachineHost(
            self.world,
            f"{self.name}.{self.lives}",
            thread_time_us=self.thread_time_us,
            chance=Random(self._chance.getrandbits(64)),
        )
        self.host.machine, self.has_acted = self, True
        self.world.tell(f"{self.name} starts, life {self.lives}")
        self.broker = Broker(self._settings(), self._store.client(self.host, self.name))
        self.broker.when_failed = self._failed
        self._surroundings = Surroundings(self, self.host)
        opening = self._open(self.broker, self._surroundings)
        self.world.run(self.host, lambda: begin(opening))

    def _settings(self) -> dict[str, str]:
        return {
            "broker.id": str(self.broker_id),
            "log.dirs": DATA,
            "listeners": f"PLAINTEXT://{self.name}:9092",
            "advertised.listeners": f"PLAINTEXT://{self.name}:9092",
            **self._properties,
        }

    async def _open(self, broker: Broker, surroundings: Surroundings) -> None:
        try:
            await broker.open(surroundings)
        except (StoreError, IdInUse, StorageFailed, OSError) as failure:
            self.world.tell(f"{self.name} does not start: {failure}")
            self._end(says_so=True)
        except Exception as failure:
            self.failure = failure
            raise
        else:
            self.is_serving = True
            self.world.tell(f"{self.name} serves")

    def _failed(self) -> None:
        """Every directory has failed, and so the process goes."""
        assert self.broker is not None
        self.world.tell(f"{self.name} gives up: {self.broker.failure}")
        self.world.after(0, self.kill, self.host)

    def stop(self) -> None:
        """In order."""
        broker, surroundings = self.broker, self._surroundings
        if broker is None or surroundings is None or not self.is_serving:
            return
        self.world.tell(f"{self.name} is stopped")
        self.is_serving = False
        self.world.run(surroundings.host, lambda: begin(self._close(broker, surroundings)))

    async def _close(self, broker: Broker, surroundings: Surroundings) -> None:
        await broker.membership.hand_over()
        if self.broker is not broker:
            return  # it was killed meanwhile
        broker.groups.led.close()
        surroundings.listening.close()
        await broker.close()
        self.world.tell(f"{self.name} has stopped")
        self._end(says_so=True)

    def kill(self) -> None:
        if self.broker is not None:
            self.world.tell(f"{self.name} is killed")
            self._end(says_so=True)

    def lose_power(self) -> None:
        if self.broker is not None:
            self.world.tell(f"{self.name} loses power")
            self.network.powered[self.name] = False
            self._end(says_so=False)

    def die_after(self, operations: int, when_dying: Callable[[], object]) -> None:
        """In the middle of what it does to its files: `PowerLost` comes out of the event."""
        self.disk.stop_after(operations)
        self.when_dying = when_dying

    def lose_power_after(self, operations: int, when_dying: Callable[[], object]) -> None:
        self.die_after(operations, when_dying)
        self.dies_of_power_loss = True

    def keep_power(self) -> None:
        """After all."""
        self.disk.let_go()
        self.dies_of_power_loss = False

    def die(self) -> None:
        """`PowerLost` has come."""
        if self.when_dying is not None:
            self.when_dying()
        if self.dies_of_power_loss:
            self.lose_power()
        else:
            self.kill()

    def _end(self, *, says_so: bool) -> None:
        assert self.host is not None
        self.host.is_alive = False
        self.broker, self.is_serving, self.has_acted, self.when_dying = None, False, True, None
        self.network.listeners.pop(self.name, None)
        self.network.process_died(self.host, says_so=says_so)
        self.disk, dead = self.disk.kill() if says_so else self.disk.crash(self._chance), self.disk
        dead.let_go()
        self._store.look_at_connections()

    # Standing still.

    def pause(self) -> bool:
        """False: it is down, or stands still already."""
        if self.host is None or self.broker is None or self.is_paused:
            return False
        self.world.tell(f"{self.name} stands still")
        self.world.pause(self.host)
        self._store.look_at_connections()
        return True

    def resume(self) -> None:
        if self.host is not None and self.broker is not None and self.host.is_paused:
            self.world.tell(f"{self.name} goes on")
            self.world.resume(self.host)
            self._store.look_at_connections()
