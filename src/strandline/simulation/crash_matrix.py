"""Loses power between any two steps of a run, and looks at what is left.

A run is played once to count its changing operations, then again for every number of them up to all, each
time on a fresh disk that loses power there. What the machine may find afterwards is then verified: the
corner cases of `SimulatedDisk.crash_states`, several random subsets, and the death of the process alone.

`run(disk, oracle)` writes into a fresh oracle what it may rely on as it goes (acknowledged, synced, asked
for), so that at the crash the oracle knows exactly what had been promised. `verify(disk, oracle)` gets a
disk of its own: it may open, recover and write, and must not change the oracle. To crash recovery too,
`verify` plays a matrix with `make_disk=disk.kill`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple, TypeVar

from strandline.simulation.disk import PowerLost, SimulatedDisk

Oracle = TypeVar("Oracle")
TRACE_TAIL_LINES = 12


class CrashCount(NamedTuple):
    """How much was played; a test asserts a minimum, so that it cannot pass by playing nothing."""

    steps: int
    crashes: int


def run_with_power_loss_at_every_step(
    run: Callable[[SimulatedDisk, Oracle], None],
    verify: Callable[[SimulatedDisk, Oracle], None],
    *,
    make_oracle: Callable[[], Oracle],
    make_disk: Callable[[], SimulatedDisk] = SimulatedDisk,
    seeds: int = 4,
    corner_cases_max: int = 7,
) -> CrashCount:
    """Raises `AssertionError` with step, kind of crash and last operations when `verify` raises anything."""
    steps = _count_steps(run, make_disk(), make_oracle())
    crashes = 0
    for step in range(steps + 1):
        disk, oracle = make_disk(), make_oracle()
        _run_until(step, run, disk, oracle, is_last=step == steps)
        for name, found in _crashes(disk, step, seeds, corner_cases_max):
            crashes += 1
            _verify(verify, found, oracle, f"step {step} of {steps}, {name}", disk)
    return CrashCount(steps, crashes)


def _count_steps(run: Callable[[SimulatedDisk, Oracle], None], disk: SimulatedDisk, oracle: Oracle) -> int:
    before = disk.operations
    run(disk, oracle)
    return disk.operations - before


def _run_until(
    step: int,
    run: Callable[[SimulatedDisk, Oracle], None],
    disk: SimulatedDisk,
    oracle: Oracle,
    *,
    is_last: bool,
) -> None:
    disk.stop_after(step)
    try:
        run(disk, oracle)
    except PowerLost:
        return
    except Exception as error:
        error.add_note(f"while losing power after step {step}; {_trace_tail(disk)}")
        raise
    if disk.power_lost:
        raise AssertionError(f"the run swallowed the power loss after step {step}; {_trace_tail(disk)}")
    if not is_last:
        raise AssertionError(f"the run ended within {step} steps and took more the first time: it is not deterministic")


def _crashes(disk: SimulatedDisk, step: int, seeds: int, corner_cases_max: int) -> Iterator[tuple[str, SimulatedDisk]]:
    yield "process killed", disk.kill()
    yield from disk.crash_states(corner_cases_max)
    for seed in range(seeds):
        yield f"seed {seed}", disk.crash(Random(f"{step}/{seed}"))


def _verify(
    verify: Callable[[SimulatedDisk, Oracle], None],
    found: SimulatedDisk,
    oracle: Oracle,
    where: str,
    crashed: SimulatedDisk,
) -> None:
    try:
        verify(found, oracle)
    except Exception as error:
        raise AssertionError(f"{where}: {error!r}; {_trace_tail(crashed)}") from error


def _trace_tail(disk: SimulatedDisk) -> str:
    tail = list(disk.trace)[-TRACE_TAIL_LINES:]
    return "last operations:\n  " + "\n  ".join(tail or ["none"])
