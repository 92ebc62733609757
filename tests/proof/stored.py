"""Power lost between any two steps of random runs, and a log cut at every byte."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Sequence

from tests.log.crash_oracle import CrashOracle
from tests.log.sample_log import disk_with_folder
from tests.log.test_crashes_random import RandomRun
from tests.log.test_damage import CRASHED, LOG_NAMES, kept_after_cut, reopened
from tests.proof.results import Result, current_commit, result

from strandline.simulation.crash_matrix import CrashCount, run_with_power_loss_at_every_step
from strandline.simulation.disk import SimulatedDisk
from strandline.simulation.many_runs import cores, in_order


def prove_crashes(runs: int, first: int) -> Result:
    began_s, commit = time.monotonic(), current_commit()
    counts = list(in_order(crash_everywhere, range(first, first + runs), cores()))
    positions = list(in_order(cut_everywhere, LOG_NAMES, cores()))
    problems = [found for found in (*counts, *positions) if isinstance(found, str)]
    whole = [count for count in counts if not isinstance(count, str)]
    figures = {
        "runs": runs,
        "seed": first,
        "steps": sum(count.steps for count in whole),
        "crashes": sum(count.crashes for count in whole),
        "byte_positions": sum(count for count in positions if isinstance(count, int)),
    }
    seconds = time.monotonic() - began_s
    command = f"python -m tests.proof crashes --crash-runs {runs} --seed {first}"
    return result("crashes", commit=commit, seconds=seconds, figures=figures, command=command, problems=problems)


def crash_everywhere(seed: int) -> CrashCount | str:
    """How much was tried, or what was found."""

    def run(disk: SimulatedDisk, oracle: CrashOracle) -> None:
        RandomRun(seed, oracle.recovered(disk), oracle).play()

    try:
        return run_with_power_loss_at_every_step(
            run,
            lambda disk, oracle: oracle.verify(disk),
            make_oracle=CrashOracle,
            make_disk=disk_with_folder,
            seeds=2,
        )
    except Exception as failure:
        return f"seed {seed}: {_told(failure)}"


def cut_everywhere(name: str) -> int | str:
    """What is left of a log whose segment `name` ends at each of its bytes: every whole batch before it."""
    sizes: Sequence[int] = range(len(CRASHED[name]))
    for size_bytes in sizes:
        try:
            reopened(CRASHED | {name: CRASHED[name][:size_bytes]}, kept_after_cut(name, size_bytes))
        except Exception as failure:
            return f"{name} cut at {size_bytes}: {_told(failure)}"
    return len(sizes)


def _told(failure: Exception) -> str:
    """With the line that raised it: outside of a test runner an assertion says nothing of itself."""
    cause = failure.__cause__ or failure
    *_, where = traceback.extract_tb(cause.__traceback__)
    return f"{type(cause).__name__} at {os.path.basename(where.filename)}:{where.lineno}, {where.line}; {failure}"
