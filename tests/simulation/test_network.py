"""Links of the simulated network that several faults break at once: each mends what it broke, and nothing else."""

from __future__ import annotations

from strandline.simulation.network import Line, Network
from strandline.simulation.world import Process, World


class Scene:
    """A client at b1, and a listener at b2 that hears what arrives."""

    def __init__(self) -> None:
        self.world = World(1)
        self.network = Network(self.world, self.world.chance("network"))
        self.heard: list[bytes] = []
        self.network.listeners["b2"] = self._take
        self.line = self.network.dial(Process("client"), "b1", self, "b2")

    def _take(self, line: Line) -> bool:
        line.accept(self, Process("server"))
        return True

    def received(self, data: bytes) -> None:
        self.heard.append(data)

    def hung_up(self) -> None: ...

    def send(self, data: bytes) -> None:
        self.line.to_server.send(data)

    def pass_time(self) -> None:
        while (event := self.world.next_event()) is not None:
            assert event.callback is not None
            event.callback()


def test_a_link_that_two_have_cut_is_whole_when_both_have_mended_it() -> None:
    network = Scene().network
    first, second = network.damage(), network.damage()
    first.cut("b1", "b2")
    second.cut("b1", "b2")
    first.mend()
    assert network.is_cut("b1", "b2")
    second.mend()
    assert not network.is_cut("b1", "b2")
    assert network.is_whole


def test_who_mends_its_own_cut_leaves_the_cuts_of_others() -> None:
    network = Scene().network
    ours, others = network.damage(), network.damage()
    ours.cut("b1", "b2")
    others.cut("b2", "b1")
    ours.mend()
    assert not network.is_cut("b1", "b2")
    assert network.is_cut("b2", "b1")
    assert not network.is_whole


def test_a_link_that_one_fault_has_cut_twice_is_mended_by_it() -> None:
    network = Scene().network
    damage = network.damage()
    damage.cut("b1", "b2")
    damage.cut("b1", "b2")
    damage.mend()
    assert network.is_whole


def test_of_two_delays_the_longer_counts_until_it_is_mended() -> None:
    network = Scene().network
    long, short = network.damage(), network.damage()
    long.slow_down("b1", "b2", 4_000_000)
    short.slow_down("b1", "b2", 20_000)
    assert max(network.delay_us("b1", "b2") for _ in range(100)) > 1_000_000
    long.mend()
    assert 5_000 < max(network.delay_us("b1", "b2") for _ in range(100)) < 30_000
    short.mend()
    assert max(network.delay_us("b1", "b2") for _ in range(100)) <= 2_000


def test_what_waits_at_a_cut_goes_on_when_the_last_cut_is_mended() -> None:
    scene = Scene()
    first, second = scene.network.damage(), scene.network.damage()
    first.cut("b1", "b2")
    second.cut_apart("b1", "b2")
    scene.send(b"hello")
    scene.pass_time()
    first.mend()
    scene.pass_time()
    assert scene.heard == []
    second.mend()
    scene.pass_time()
    assert scene.heard == [b"hello"]


def test_the_end_mends_everything_and_leaves_nobody_anything_to_mend() -> None:
    network = Scene().network
    first, second = network.damage(), network.damage()
    first.cut_apart("b1", "b2")
    second.slow_down("b1", "store", 4_000_000)
    network.mend_all()
    assert network.is_whole
    assert max(network.delay_us("b1", "store") for _ in range(100)) <= 2_000
    assert not first.mend()
    assert not second.mend()
    second.cut("b1", "b2")
    assert second.mend()


def test_damage_says_which_links_are_cut_and_which_are_slow() -> None:
    damage = Scene().network.damage()
    assert str(damage) == ""
    damage.cut_apart("b1", "b2")
    damage.cut("store", "b1")
    damage.slow_down("b3", "b1", 400_000)
    assert str(damage) == "b1 <-> b2, store -> b1, b3 -> b1 by up to 400 ms"
