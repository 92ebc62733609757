"""The nemesis: faults overlap and mend what they broke, count where they take effect, and say what they did."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator

import pytest
from tests.simulation.scene import Scene

from strandline.simulation.durations import SECOND_US
from strandline.simulation.nemesis import FAULTS, FAULTS_BY_NAME, SUPERVISED_S
from strandline.simulation.options import Options
from strandline.simulation.runs import dying_quietly, run


@pytest.fixture(autouse=True)
def _dying_quietly() -> Iterator[None]:
    with dying_quietly():
        yield
        gc.collect()


def test_a_fault_that_ends_leaves_what_another_has_cut() -> None:
    scene = Scene()
    scene.strike("ring")
    other = scene.network.damage()
    other.cut_apart("b1", "b2")
    scene.run_until(lambda: any(line.startswith("mended: ring") for line in scene.told))
    assert scene.network.is_cut("b1", "b2")
    assert scene.network.is_cut("b2", "b1")
    assert not scene.network.is_cut("b2", "b3")


def test_a_follower_that_lags_is_cut_off_to_the_end_whatever_else_ends_meanwhile() -> None:
    scene = Scene()
    scene.strike("slow_network")
    scene.strike("lag_follower")
    began_us = scene.simulation.world.now_us
    scene.run_until(lambda: any(line.startswith("mended: slow_network") for line in scene.told))
    assert not scene.network.is_whole
    scene.run_until(lambda: scene.network.is_whole)
    assert scene.simulation.world.now_us == began_us + 45 * SECOND_US


def test_the_end_mends_what_all_of_them_broke() -> None:
    scene = Scene()
    for name in ("ring", "cut_off", "cut_from_store", "slow_network", "slow_disk", "slow_sending", "full_disk"):
        scene.strike(name)
    scene.nemesis.end()
    assert scene.network.is_whole
    assert not any(each.slow_disk_us or each.slow_sending_us or each.disk.is_bounded for each in scene.machines)
    told = scene.told
    scene.run_for(30)
    assert scene.told == told


def test_a_start_that_was_left_for_later_does_not_end_the_next_death() -> None:
    scene = Scene()
    machine = scene.machines[0]
    scene.nemesis.start_later(machine, 5, 5)
    machine.kill()
    machine.start()
    machine.kill()
    scene.run_for(6)
    assert not machine.is_up


def test_the_supervisor_starts_who_has_been_down_since_its_last_look() -> None:
    scene = Scene()
    machine = scene.machines[0]
    machine.kill()
    scene.nemesis._supervise({})
    scene.run_for(SUPERVISED_S[0] - 1)
    assert not machine.is_up
    scene.run_for(SUPERVISED_S[1] - SUPERVISED_S[0] + 2)
    assert machine.is_up


def test_the_supervisor_leaves_who_came_and_died_since_its_last_look() -> None:
    scene = Scene()
    machine = scene.machines[0]
    machine.kill()
    scene.nemesis._supervise({})
    scene.run_for(SUPERVISED_S[0] - 1)
    machine.start()
    machine.kill()
    scene.run_for(SUPERVISED_S[0])
    assert not machine.is_up


def test_the_supervisor_leaves_whom_a_fault_will_start() -> None:
    scene = Scene()
    machine = scene.machines[0]
    scene.nemesis._supervise({})
    scene.nemesis.start_later(machine, 50, 50)
    machine.kill()
    scene.run_for(49)
    assert not machine.is_up
    scene.run_for(2)
    assert machine.is_up


def test_who_stands_still_is_woken_by_whoever_made_it_stand_still() -> None:
    scene = Scene()
    machine = scene.machines[0]
    scene.nemesis.pause(machine, 3 * SECOND_US)
    scene.nemesis.pause(machine, 1 * SECOND_US)
    scene.run_for(2)
    assert machine.is_paused
    scene.run_for(2)
    assert not machine.is_paused


@pytest.mark.parametrize("name", ["kill", "kill_all", "stop", "pause", "kill_amid_files", "failing_disk", "slow_disk"])
def test_nothing_is_counted_that_happens_to_brokers_that_are_down(name: str) -> None:
    scene = Scene()
    for machine in scene.machines:
        machine.kill()
    scene.strike(name)
    assert scene.nemesis.injected.total() == 0
    assert scene.told == []


def test_a_session_that_is_not_there_is_not_severed() -> None:
    scene = Scene()
    for link in scene.simulation.store.links.values():
        link.sever()
    scene.strike("sever_session")
    assert scene.nemesis.injected.total() == 0


@pytest.mark.parametrize("name", ["failing_disk", "full_disk", "kill_amid_files", "lose_answer"])
def test_a_fault_that_waits_for_its_moment_counts_when_it_has_come(name: str) -> None:
    scene = Scene()
    scene.strike(name)
    assert scene.nemesis.injected.total() == 0
    assert [line for line in scene.told if not line.startswith(f"armed: {name} b")] == []
    while not scene.nemesis.injected[name]:
        scene.strike(name)
        scene.run_for(1)
    assert any(line.startswith(f"fault: {name} b") for line in scene.told)


def test_a_cut_is_told_with_its_links_and_its_time_and_told_again_when_it_is_mended() -> None:
    scene = Scene()
    scene.strike("cut_from_store")
    scene.run_until(lambda: scene.network.is_whole)
    fault, mended = scene.told
    links = re.fullmatch(r"fault: cut_from_store (b\d (->|<->) store|store -> b\d) for \d+\.\d s", fault)
    assert links is not None
    assert mended == f"mended: cut_from_store {links[1]}"


def test_what_is_told_of_a_run_is_what_is_counted() -> None:
    outcome = run(Options(seed=3, seconds=120), whole_transcript=True)
    told = [found[1] for line in outcome.transcript if (found := re.search(r" fault: (\w+) \S", line))]
    assert len(told) == outcome.faults.total() > 0
    assert {name: told.count(name) for name in told} == dict(outcome.faults)


@pytest.mark.parametrize("brokers", [1, 2])
@pytest.mark.parametrize("name", [*FAULTS, *FAULTS_BY_NAME])
def test_every_fault_is_one_or_passes_with_few_brokers(brokers: int, name: str) -> None:
    scene = Scene(brokers=brokers)
    scene.strike(name)
    scene.run_for(5)
    scene.nemesis.end()
    scene.run_until(lambda: scene.simulation.all_are_serving)


@pytest.mark.parametrize("name", ["lag_follower", "ring", "lose_power", "rot", "die_at_commit", "zombie"])
def test_what_takes_a_third_broker_passes_without(name: str) -> None:
    scene = Scene(brokers=2)
    scene.strike(name)
    assert scene.told == []
    assert scene.network.is_whole
