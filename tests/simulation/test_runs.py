"""Runs end as whoever runs them wants it."""

from __future__ import annotations

import gc
import os
import signal

import pytest

from strandline.simulation.many_runs import WorkerEnded, in_order
from strandline.simulation.options import Options
from strandline.simulation.runs import run
from strandline.simulation.simulation import Simulation


class Interrupted:
    """By Ctrl-C, in the moment in which it goes."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


def test_an_interrupt_that_comes_while_something_goes_is_not_lost() -> None:
    """Python passes over what is raised there, and one Ctrl-C in ten came to nothing."""

    def began(_: Simulation) -> None:
        Interrupted()

    with pytest.raises(KeyboardInterrupt):
        run(Options(seed=1, seconds=5, faults=()), began=began)
    assert gc.isenabled()


def die_at_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_where_a_process_is_killed_whatever_had_ended_is_known_and_all_else_is_named() -> None:
    with pytest.raises(WorkerEnded, match="a worker process was ended, by whom is not known") as ended:
        list(in_order(die_at_three, iter(range(1000)), 2))
    broken = ended.value
    assert 3 in broken.unfinished
    beyond = next(broken.others)
    assert max(*broken.results, *broken.unfinished) == beyond - 1
