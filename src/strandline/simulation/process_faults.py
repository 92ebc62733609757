"""Faults of processes: brokers are killed, stopped and put to sleep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.simulation.durations import in_seconds

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis


class ProcessFaults:
    def __init__(self, nemesis: Nemesis) -> None:
        self._nemesis = nemesis
        self._machines = nemesis.simulation.machines

    def kill(self) -> None:
        machine = self._nemesis.leader()
        if machine.is_up:
            self._nemesis.struck("kill", f"{machine.name}, {self._nemesis.start_later(machine, 0.1, 15)}")
            machine.kill()

    def kill_amid_files(self) -> None:
        machine, operations = self._nemesis.leader(), self._nemesis.chance.randint(0, 60)
        if not machine.is_up:
            return

        def dies() -> None:
            self._nemesis.struck("kill_amid_files", f"{machine.name}, {self._nemesis.start_later(machine, 0.1, 15)}")

        self._nemesis.armed("kill_amid_files", f"{machine.name}, after {operations} changes to its files")
        machine.die_after(operations, dies)

    def kill_all(self) -> None:
        up = [machine for machine in self._machines if machine.is_up]
        if up:
            starts = [f"{machine.name} {self._nemesis.start_later(machine, 0.1, 10)}" for machine in up]
            self._nemesis.struck("kill_all", ", ".join(starts))
        for machine in up:
            machine.kill()

    def stop(self) -> None:
        machine = self._nemesis.leader()
        if machine.is_serving:
            self._nemesis.struck("stop", f"{machine.name}, {self._nemesis.start_later(machine, 0.5, 15)}")
            machine.stop()

    def pause(self) -> None:
        machine = self._nemesis.leader()
        if machine.is_up and not machine.is_paused:
            lasts_us = self._nemesis.draw_us(0.1, 25)
            self._nemesis.struck("pause", f"{machine.name} for {in_seconds(lasts_us)}")
            self._nemesis.pause(machine, lasts_us)
