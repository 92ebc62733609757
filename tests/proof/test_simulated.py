"""What is made of many runs in the simulator: a kind of fault that never struck in any of them proves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from tests.proof import simulated
from tests.proof.simulated import SEEDS_FOR_ALL_FAULTS, prove_mutations, prove_seeds

from strandline.simulation.many_runs import WorkerEnded
from strandline.simulation.nemesis import FAULTS
from strandline.simulation.options import Options
from strandline.simulation.runs import Outcome


def let_strike(monkeypatch: pytest.MonkeyPatch, *names: str, acknowledged: int = 1) -> None:
    """In each run, and nothing else."""

    def run_all(wanted: Sequence[Options], _: int) -> Iterator[Outcome]:
        for options in wanted:
            yield Outcome(options, "0123", 10, 1_000, 100, acknowledged, 1, Counter(names))

    monkeypatch.setattr(simulated, "run_all", run_all)


def test_faults_that_never_struck_are_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    let_strike(monkeypatch, *(name for name in FAULTS if name not in ("rot", "zombie")))
    found = prove_seeds(SEEDS_FOR_ALL_FAULTS, 1)
    assert found.problems == ["void: rot never struck in 200 seeds", "void: zombie never struck in 200 seeds"]
    assert not found.sound


def test_where_all_have_struck_those_that_nobody_asked_for_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    let_strike(monkeypatch, *FAULTS)
    assert prove_seeds(SEEDS_FOR_ALL_FAULTS, 1).problems == []


def test_a_few_seeds_need_not_have_them_all(monkeypatch: pytest.MonkeyPatch) -> None:
    let_strike(monkeypatch, "kill")
    assert prove_seeds(SEEDS_FOR_ALL_FAULTS - 1, 1).problems == []


def test_where_nothing_was_acknowledged_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    let_strike(monkeypatch, "kill", acknowledged=0)
    assert prove_seeds(1, 1).problems == ["void: nothing was acknowledged in any run"]


def test_a_process_that_somebody_ends_is_a_problem_beside_what_had_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_all(wanted: Sequence[Options], _: int) -> Iterator[Outcome]:
        ended = [Outcome(options, "0123", 10, 1_000, 100, 1, 1, Counter("kill")) for options in wanted[:2]]
        yield ended[0]
        raise WorkerEnded((ended[1],), (wanted[2],), iter(()))

    def hunt(*_: object) -> Iterator[object]:
        raise WorkerEnded((), (), iter(()))
        yield

    monkeypatch.setattr(simulated, "run_all", run_all)
    monkeypatch.setattr(simulated, "hunt", hunt)
    found = prove_seeds(3, 1)
    assert found.figures["seeds"] == 2
    assert found.problems[0].startswith("only 2 of 3 seeds ended: a worker process was ended, by whom is not known")
    assert " mutations were tried: a worker process was ended" in prove_mutations(1).problems[0]
