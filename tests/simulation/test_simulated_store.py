"""What a broker hears of a metadata store that it cannot reach any more."""

from __future__ import annotations

from strandline.metadata.errors import ConnectionLost
from strandline.simulation.network import Network
from strandline.simulation.simulated_host import SimulatedHost
from strandline.simulation.simulated_store import STORE, SimulatedStore
from strandline.simulation.world import World

SESSION_TIMEOUT_MS = 6_000


class Scene:
    """A broker, at b1, with a session."""

    def __init__(self) -> None:
        self.world = World(1)
        self.network = Network(self.world, self.world.chance("network"))
        self.store = SimulatedStore(
            self.world, self.network, self.world.chance("store"), session_timeout_ms=SESSION_TIMEOUT_MS
        )
        self.host = SimulatedHost(self.world, "b1", thread_time_us=lambda *_: 0, chance=self.world.chance("host"))
        opening = self.store.client(self.host, "b1").open_session(lambda _: None)
        self.pass_time()
        self.session = opening.value()

    def step(self) -> bool:
        event = self.world.next_event()
        if event is not None:
            assert event.callback is not None
            event.callback()
        return event is not None

    def pass_time(self) -> None:
        while self.step():
            pass


def test_who_does_not_hear_that_its_session_was_closed_gives_up() -> None:
    """As any client does whose server says nothing more; a broker waits for it before it ends."""
    scene = Scene()
    closing = scene.session.close()
    while scene.store.links:
        scene.step()
    scene.network.damage().cut(STORE, "b1")
    scene.pass_time()
    assert isinstance(closing.error, ConnectionLost)
