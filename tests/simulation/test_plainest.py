"""The plainest way to a failure: no faults if it does without, else no kind that it does not need."""

from __future__ import annotations

import pytest
from tests.simulation.mutations import named

from strandline.simulation.options import Options
from strandline.simulation.plainest import plainest
from strandline.simulation.process_faults import ProcessFaults
from strandline.simulation.runs import run


def test_a_run_without_faults_is_a_run() -> None:
    outcome = run(Options(seed=1, seconds=20, faults=()))
    assert outcome.violation is None, outcome.violation
    assert outcome.faults.total() == 0 < outcome.acknowledged
    assert "--faults none" in outcome.command


def test_what_fails_without_any_fault_is_shown_without(monkeypatch: pytest.MonkeyPatch) -> None:
    named("acks=all is answered by the leader alone").switch_off(monkeypatch)
    failed = run(Options(seed=1, seconds=60, faults=("kill", "pause", "cut_off", "stop")))
    told: list[str] = []
    shown = plainest(failed, told.append)
    assert told == ["without any fault", f"fails without any fault too, after {shown.steps:,} steps"]
    assert shown.options.faults == ()
    assert shown.violation is not None
    assert f"--faults none --steps {shown.violation.step}" in shown.command


def test_what_needs_a_fault_keeps_it_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = ProcessFaults.stop

    def complain_of_the_second(faults: ProcessFaults) -> None:
        stop(faults)
        nemesis = faults._nemesis
        if nemesis.injected["stop"] == 2:
            nemesis.simulation.complain("NoSecondStop", "a broker was stopped for the second time")

    monkeypatch.setattr(ProcessFaults, "stop", complain_of_the_second)
    failed = run(Options(seed=1, seconds=60, faults=("pause", "stop")))
    assert failed.violation is not None
    assert failed.faults.keys() == {"pause", "stop"}
    shown = plainest(failed)
    assert shown.options.faults == ("stop",)
    assert shown.violation is not None
    assert shown.violation.invariant == "NoSecondStop"
