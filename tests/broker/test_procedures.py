"""Procedures: what they return and raise is heard, and what never goes on is garbage like anything else."""

from __future__ import annotations

import gc
import logging

import pytest

from strandline.broker.procedures import begin, each_of, follow
from strandline.metadata.answer import Answer


class Expected(Exception):
    """What a procedure may end by."""


async def waits_for(answer: Answer[int]) -> int:
    return await answer + 1


async def fails(failure: Exception) -> None:
    raise failure


def test_the_one_who_follows_hears_the_outcome() -> None:
    answer: Answer[int] = Answer()
    outcomes: list[int | Exception] = []
    follow(waits_for(answer), outcomes.append)
    assert not outcomes
    answer.deliver(41)
    assert outcomes == [42]


def test_a_failure_that_nobody_expects_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        begin(fails(Expected()), may_end_by=(Expected,))
        assert not caplog.records
        begin(fails(ValueError("a bug")), may_end_by=(Expected,))
    assert "a bug" in caplog.text


def test_procedures_whose_answers_never_come_are_collected_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    """As when a simulation is over. Seen: 'coroutine already executing' out of the collector, in the middle of another
    test, and procedures of the dead world that went on."""

    async def waits_for_ever() -> None:
        await Answer()  # of which nobody else knows

    async def all_of_them() -> None:
        await each_of([waits_for_ever() for _ in range(20)])

    gc.collect()  # what other tests have left behind
    heard: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.unraisablehook", heard.append)
        for _ in range(20):
            begin(all_of_them(), may_end_by=(Expected,))
        gc.collect()
    assert not heard
    assert not caplog.records
