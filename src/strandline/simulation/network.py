"""The simulated network: lines between processes, as TCP has them, over links that can be cut in one direction.

A line keeps its order. While a link is cut, what is on its way waits, as TCP sends again; who does not want to wait
hangs up, but what was sent before may still arrive afterwards, when nobody expects it any more. That is how requests
are repeated and overtake one another here, and the only way in which they can.

A process that dies hangs up all its lines, for its kernel lives on. A machine that loses power says nothing: the others
find out by their own patience, or when it is back and knows nothing of the line.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Protocol

from strandline.simulation.damage import Damage, Link
from strandline.simulation.world import Process, World


class End(Protocol):
    """Who is at one end of a line."""

    def received(self, data: bytes) -> None: ...
    def hung_up(self) -> None: ...


class Pipe:
    """One direction of a line."""

    __slots__ = ("_arrives_us", "_held", "_network", "_sent", "line", "source", "target", "to_client")

    def __init__(self, network: Network, line: Line, source: str, target: str, *, to_client: bool) -> None:
        self._network = network
        self._arrives_us = 0
        self._sent: deque[bytes | None] = deque()  # and not arrived
        self._held = 0  # how many have come to where the link is cut
        self.line = line
        self.source = source
        self.target = target
        self.to_client = to_client

    def send(self, data: bytes | None) -> None:
        """None is the end of the line."""
        self._sent.append(data)
        self._come_later()

    def _come_later(self) -> None:
        network = self._network
        arrives_us = max(network.world.now_us + network.delay_us(self.source, self.target), self._arrives_us)
        self._arrives_us = arrives_us
        network.world.after(arrives_us - network.world.now_us, self._arrived)

    def _arrived(self) -> None:
        """Something has come through: what was sent first of all that is under way."""
        if self._network.is_cut(self.source, self.target):
            self._held += 1
            self._network.hold(self)
        else:
            data = self._sent.popleft()
            if data is not None:
                self._network.world.arrived(data)
            self.line.deliver(self.to_client, data)

    def go_on(self) -> None:
        """The link is whole again; what waited is sent again."""
        held, self._held = self._held, 0
        for _ in range(held):
            self._come_later()


class Line:
    """From a client to the listener of a machine."""

    def __init__(
        self, network: Network, process: Process, place: str, client: End, target: str, *, number: int
    ) -> None:
        self._network = network
        self.number = number
        self.target = target
        self.client: End | None = client
        self.client_process = process
        self.server: End | None = None
        self.server_process: Process | None = None
        self.to_server = Pipe(network, self, place, target, to_client=False)
        self.to_client = Pipe(network, self, target, place, to_client=True)
        self.is_accepted = False
        self.is_refused = False  # for good: who listens later must not hear the second word without the first
        self.waiting: list[bytes | None] = []  # for the listener to accept

    def accept(self, server: End, process: Process) -> None:
        self.server, self.server_process, self.is_accepted = server, process, True
        waiting, self.waiting = self.waiting, []
        for data in waiting:
            self.deliver(False, data)

    def hang_up_by_client(self) -> None:
        if self.client is not None:
            self.client = None
            self.to_server.send(None)

    def hang_up_by_server(self) -> None:
        if self.server is not None:
            self.server = None
            self._network.forget(self)
            self.to_client.send(None)

    def deliver(self, to_client: bool, data: bytes | None) -> None:
        network = self._network
        if to_client:
            client = self.client
            if client is not None:
                if data is None:
                    self.client = None
                self._give(client, self.client_process, data)
            return
        if not self.is_accepted:
            if self.is_refused or not network.knock(self):
                self._refuse()
                return
            if not self.is_accepted:
                self.waiting.append(data)
                return
        if self.server is None or self.server_process is None or not self.server_process.is_alive:
            if network.is_on(self.target) and data is not None:
                self.to_client.send(None)  # nobody knows this line here
            return
        server = self.server
        if data is None:
            self.server = None
            network.forget(self)
        self._give(server, self.server_process, data)

    def _refuse(self) -> None:
        if self.is_refused and self._network.is_on(self.target):
            self.to_client.send(None)
        self.is_refused = True

    def _give(self, end: End, process: Process, data: bytes | None) -> None:
        """When the process has time for it."""
        self._network.world.give(process, end.hung_up if data is None else lambda: end.received(data))


class Network:
    def __init__(self, world: World, chance: Random, *, delay_us: tuple[int, int] = (100, 2_000)) -> None:
        self.world = world
        self._chance = chance
        self._delay_us = delay_us
        self._damages: dict[Damage, None] = {}
        self._slow: dict[Link, int] = {}  # by all damages together
        self._cut: set[Link] = set()
        self._holding: dict[Pipe, None] = {}
        self._lines: dict[Line, None] = {}
        self._numbers = 0
        self.when_changed: list[Callable[[], None]] = []
        self.listeners: dict[str, Callable[[Line], bool]] = {}  # by machine: take this line, or refuse it
        self.powered: dict[str, bool] = {}

    def delay_us(self, source: str, target: str) -> int:
        least, most = self._delay_us
        delay = least + int(self._chance.random() * (most - least))
        if self._slow:
            delay += self._chance.randint(0, self._slow.get((source, target), 0))
        return delay

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cut

    @property
    def is_whole(self) -> bool:
        return not self._cut

    def is_on(self, machine: str) -> bool:
        return self.powered.get(machine, True)

    def damage(self) -> Damage:
        """For a fault that is about to break something here, and will mend it."""
        return Damage(self)

    def broken(self, damage: Damage) -> None:
        self._damages[damage] = None
        self._recount()

    def mended(self, damage: Damage) -> None:
        self._damages.pop(damage, None)
        self._recount()
        holding, self._holding = self._holding, {}
        for pipe in holding:
            if self.is_cut(pipe.source, pipe.target):
                self._holding[pipe] = None
            else:
                pipe.go_on()

    def mend_all(self) -> None:
        for damage in list(self._damages):
            damage.mend()

    def _recount(self) -> None:
        self._cut = {link for damage in self._damages for link in damage.cuts}
        self._slow = {}
        for damage in self._damages:
            for link, delay_us in damage.delays_us.items():
                self._slow[link] = max(delay_us, self._slow.get(link, 0))
        self._changed()

    def _changed(self) -> None:
        for listener in self.when_changed:
            listener()

    def hold(self, pipe: Pipe) -> None:
        self._holding[pipe] = None

    def dial(self, process: Process, place: str, client: End, target: str) -> Line:
        self._numbers += 1
        line = Line(self, process, place, client, target, number=self._numbers)
        self._lines[line] = None
        return line

    def knock(self, line: Line) -> bool:
        """The first word on a line has come to its machine. Whether somebody takes it or lets it wait."""
        if not self.is_on(line.target):
            return False
        listener = self.listeners.get(line.target)
        if listener is not None and listener(line):
            return True
        line.to_client.send(None)
        self.forget(line)
        return False

    def forget(self, line: Line) -> None:
        self._lines.pop(line, None)

    def process_died(self, process: Process, *, says_so: bool) -> None:
        for line in list(self._lines):
            if line.server_process is process:
                if says_so:
                    line.hang_up_by_server()
                self.forget(line)
            elif line.client_process is process:
                if says_so:
                    line.hang_up_by_client()
                line.client = None
