"""The plainest way to a failure: no faults if it does without, else no kind that it does not need."""

from __future__ import annotations

import pytest
from tests.simulation.mutations import named

from strandline.simulation.nemesis import Nemesis
from strandline.simulation.options import Options
from strandline.simulation.plainest import SearchInterrupted, plainest
from strandline.simulation.process_faults import ProcessFaults
from strandline.simulation.runs import run

NO_HURRY_S = 3_600.0


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
    told_again: list[str] = []
    assert plainest(shown, told_again.append).fingerprint == shown.fingerprint
    assert told_again == [], "there is no fault that could be left out"
    assert told == ["try 1: without any fault", f"fails without any fault too, after {shown.steps:,} steps"]
    assert shown.options.faults == ()
    assert shown.violation is not None
    assert f"--faults none --steps {shown.violation.step}" in shown.command


def fail_with_these_alone(patch: pytest.MonkeyPatch, *failing: set[str]) -> None:
    """When each of them has struck, in a run that has these kinds of faults and no others."""
    strike = Nemesis._strike

    def complain_after_all(nemesis: Nemesis) -> None:
        strike(nemesis)
        kinds = set(nemesis._faults)
        if kinds in failing and set(nemesis.injected) == kinds:
            nemesis.simulation.complain("NotTheseTogether", f"all of {', '.join(sorted(kinds))} struck")

    patch.setattr(Nemesis, "_strike", complain_after_all)


def test_a_kind_that_was_needed_beside_another_is_tried_again_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with_these_alone(monkeypatch, {"stop", "kill", "pause"}, {"stop", "pause"}, {"pause"})
    failed = run(Options(seed=1, seconds=60, faults=("stop", "kill", "pause")))
    assert failed.violation is not None
    told: list[str] = []
    shown = plainest(failed, told.append, seconds_max=NO_HURRY_S)
    assert shown.options.faults == ("pause",)
    tried = [line for line in told if line.startswith("try ")]
    assert tried == [
        "try 1: without any fault",
        "try 2: without stop",
        "try 3: without kill",
        "try 4: without pause",
        "try 5: without stop",
    ]
    again = plainest(shown, seconds_max=NO_HURRY_S)
    assert again.command == shown.command, "whoever runs it again is told of no plainer one"


def test_what_is_tried_is_limited_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with_these_alone(monkeypatch, {"kill", "pause"}, {"kill"})
    failed = run(Options(seed=1, seconds=60, faults=("kill", "pause")))
    told: list[str] = []
    shown = plainest(failed, told.append, seconds_max=NO_HURRY_S, tries_max=2)
    assert shown.options.faults == ("kill", "pause")
    assert told[-1] == "no more than 2 runs are tried: there may be a kind of fault that it does not need"


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


def test_an_interrupt_leaves_the_plainest_that_was_found_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with_these_alone(monkeypatch, {"stop", "kill", "pause"}, {"kill", "pause"})
    failed = run(Options(seed=1, seconds=60, faults=("stop", "kill", "pause")))
    assert failed.violation is not None

    def interrupt(line: str) -> None:
        if line == "try 3: without kill":
            raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted) as interrupted:
        plainest(failed, interrupt, seconds_max=NO_HURRY_S)
    assert interrupted.value.found.options.faults == ("kill", "pause")
    assert interrupted.value.found.violation is not None
    assert interrupted.value.found.transcript
