"""Every record in exactly one place, though Spark and brokers are killed: some of `make spark-kills` (SPEC D1, D3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.exactness.account import Verdict, judge_place
from tests.exactness.brokers import OneBroker
from tests.exactness.run import KINDS, Run

WAIT_S = 600.0


def test_each_record_is_in_one_place_once_whoever_is_killed(tmp_path: Path) -> None:
    with OneBroker() as brokers:
        quick: dict[str, Any] = {"batches_per_kill": 2, "pause_s": 0.3, "tell": lambda _: None}
        run = Run(tmp_path, brokers, records=4_000, kills=len(KINDS), seed=7, **quick)
        outcome = run.run(WAIT_S)
    assert dict(outcome.kills) == dict.fromkeys(KINDS, 1)
    assert outcome.held_up == []
    assert [each for each in outcome.verdicts if not each.is_exact] == []
    assert {each.place: each.found for each in outcome.verdicts} == {
        "topic, exactly once": 3_920,
        "Parquet": 3_920,
        "Delta": 3_920,
        "dead letters": 80,
        "copy of the topic": 4_000,
    }


def test_the_account_sees_what_is_missing_doubled_or_elsewhere() -> None:
    found = judge_place("even", 10, lambda number: number % 2 == 0, [0, 2, 2, 2, 4, 5, 6, 11, -1])
    assert found == Verdict("even", wanted=5, found=9, missing=1, doubled=1, misplaced=3)
    assert not found.is_exact
    assert judge_place("even", 10, lambda number: number % 2 == 0, range(0, 10, 2)).is_exact
