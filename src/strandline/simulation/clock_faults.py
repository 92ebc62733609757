"""Somebody sets the clock on the wall of a machine, and some time later sets it right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strandline.simulation.machine import Machine

if TYPE_CHECKING:
    from strandline.simulation.nemesis import Nemesis

# The clocks of two machines are less than an hour apart: a leader refuses what is so much later than its own.
LEAP_MINUTES_MAX = 25
WRONG_S = (5, 40)
# What holds of these goes by the clock on the wall, in Kafka too: what expires does so early or late.
LOADS_BY_THE_WALL = frozenset({"transactions", "copying", "retention", "compaction", "deletions"})


class ClockFaults:
    def __init__(self, nemesis: Nemesis) -> None:
        self._nemesis = nemesis

    def set_clock(self) -> None:
        machine = self._nemesis.leader()
        if machine.clock_leap_ms or not LOADS_BY_THE_WALL.isdisjoint(self._nemesis.simulation.options.load):
            return
        minutes = self._nemesis.chance.choice((-1, 1)) * self._nemesis.chance.randint(1, LEAP_MINUTES_MAX)
        machine.set_clock(minutes * 60_000)
        told = f"{machine.name} by {minutes:+} min"
        self._nemesis.struck_for("set_clock", told, lambda: set_right(machine), *WRONG_S)


def set_right(machine: Machine) -> bool:
    was_wrong = machine.clock_leap_ms != 0
    machine.set_clock(0)
    return was_wrong
