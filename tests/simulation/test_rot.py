"""Rot above the recovery point: whichever bit it is, recovery ends the log before it, or makes the index anew."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from random import Random

import pytest
from tests.simulation.scene import Scene

from strandline.log.clean_shutdown import CLEAN_SHUTDOWN_MARKER
from strandline.log.log import Log
from strandline.log.log_directories import LogDirectories
from strandline.model.partitions import TopicPartition
from strandline.simulation.at_rest import LogFound
from strandline.simulation.disk import SimulatedDisk
from strandline.simulation.machine import DATA
from strandline.simulation.rot import rot_one_bit
from strandline.simulation.runs import dying_quietly

ROTTED = 60


@pytest.fixture(autouse=True)
def _dying_quietly() -> Iterator[None]:
    with dying_quietly():
        yield
        gc.collect()


def opened(disk: SimulatedDisk, scene: Scene) -> dict[TopicPartition, Log]:
    broker = scene.machines[0].broker
    assert broker is not None
    settings, now_ms = broker.configuration.log_settings, scene.simulation.world.now_ms
    (directory,) = LogDirectories.open(disk, [DATA], settings, now_ms=now_ms).directories
    return directory.logs


def test_recovery_notices_whichever_bit_has_rotted() -> None:
    scene = Scene()
    scene.run_for(30)
    disk = scene.machines[0].disk
    sound = {name: LogFound.of(log) for name, log in opened(disk.kill(), scene).items()}
    cut = remade = 0
    for number in range(ROTTED):
        survivor = disk.kill()
        rotten = rot_one_bit(survivor, DATA, Random(number))
        assert rotten is not None
        found = {name: LogFound.of(log) for name, log in opened(survivor, scene).items()}
        changed = [name for name in sound if found[name] != sound[name]]
        if rotten.endswith(".log"):
            (name,) = changed
            assert f"/{name}/" in rotten
            assert sound[name].recovery_point <= found[name].log_end_offset < sound[name].log_end_offset, rotten
            cut += 1
        else:
            assert changed == [], rotten
            remade += 1
    assert cut > 0
    assert remade > 0


def test_nothing_rots_where_the_next_start_reads_nothing_anew() -> None:
    scene = Scene()
    scene.run_for(5)
    disk = scene.machines[0].disk.kill()
    disk.open(f"{DATA}/{CLEAN_SHUTDOWN_MARKER}", create=True)
    assert rot_one_bit(disk, DATA, Random(1)) is None
    assert rot_one_bit(SimulatedDisk(), "/", Random(1)) is None


def test_a_broker_whose_disk_has_rotted_comes_back_and_has_everything_again() -> None:
    scene = Scene()
    scene.run_for(10)
    scene.strike("rot")
    (told,) = scene.told
    assert told.startswith("fault: rot b")
    assert " of byte " in told
    assert scene.nemesis.injected == {"rot": 1}
    assert scene.nemesis.power.is_busy
    scene.run_until(lambda: not scene.nemesis.power.is_busy)
    scene.run_until(lambda: scene.simulation.is_calm)
