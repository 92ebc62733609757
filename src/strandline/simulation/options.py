"""What a run is asked for."""

from __future__ import annotations

from dataclasses import dataclass

BROKERS_MAX = 9
RECORDS = "records"  # the load of plain producers and consumers


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    seed: int
    brokers: int = 3
    seconds: int = 1_200  # of work and faults, in simulated time; two minutes of it are busy (`seasons`)
    faults: tuple[str, ...] | None = None  # by their names; None: all
    load: tuple[str, ...] = (RECORDS,)  # by their names (`loads`)
    steps_max: int | None = None  # stop there
