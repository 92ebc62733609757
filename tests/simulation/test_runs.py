"""Runs end as whoever runs them wants it."""

from __future__ import annotations

import gc

import pytest

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
