"""What is made of a run with real processes: sound is only what ended well and left an account that says so."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.availability import Acknowledgements
from tests.chaos.nemesis import Struck
from tests.chaos.scoreboard import VOID, Scoreboard
from tests.chaos.work import Work
from tests.fuzz.run import FuzzRun
from tests.proof.processes import prove_chaos, prove_frames, prove_kills
from tests.proof.results import load

from strandline.history.checker import check
from strandline.history.operations import Outcome, Poll, Record, Send
from strandline.model.partitions import TopicPartition

ORDERS = TopicPartition("orders", 0)
Ends = Callable[[int, str | None], None]


ENOUGH = Work(written=100, aborted=10, copied=1000, group_commits=100)


def account(work: Work = ENOUGH, **others: Any) -> str:
    """Of a run in which nothing was wrong, but for what is told."""
    struck = [Struck("kill-leader", "broker 1", 0, ended_us=1, has_bitten=True)]
    sent = Send(1, "anna", Outcome.OK, 0, 1, "orders", ORDERS, "a", 0)
    read = Poll(2, "carl", Outcome.OK, 1, 2, (Record(ORDERS, 0, "a"),))
    verdict = check([sent, read])
    sound = Scoreboard(
        60.0, struck, Acknowledgements([]), work, verdict, [], 1000, [], [], at_least=0, seed=3, command=""
    )
    return json.dumps(sound.as_fields() | others)


@pytest.fixture
def chaos_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ends:
    """Another program instead of `python -m tests.chaos`: it leaves an account, or none, and ends as it is told."""
    monkeypatch.chdir(tmp_path)

    def ends(code: int, left: str | None) -> None:
        program = tmp_path / "python"
        (tmp_path / "account").write_text(left or "")
        leave = "" if left is None else f'mkdir -p "$4"; cp {tmp_path}/account "$4/scoreboard.json"'
        program.write_text(f"#!/bin/sh\n{leave}\nexit {code}\n")
        os.chmod(program, 0o755)
        monkeypatch.setattr(sys, "executable", str(program))

    return ends


def test_a_run_that_was_sound_has_its_seed_and_the_command_for_the_same_faults(chaos_ends: Ends) -> None:
    chaos_ends(0, account())
    kills, chaos = prove_kills(2, 3), prove_chaos(1.5, 3)
    assert (kills.sound, kills.problems, kills.figures["seed"]) == (True, [], 3)
    assert kills.command == "python -m tests.chaos --cycles 2 --rate 800 --at-least 8000 --seed 3"
    assert chaos.command.startswith("python -m tests.chaos --network --spark --faults all --minutes 1.5 ")
    assert chaos.command.endswith(" --seed 3")
    kills.save()
    assert load("kills") == kills


def test_clients_that_were_replaced_are_told_where_there_are_too_many(chaos_ends: Ends) -> None:
    chaos_ends(0, account(replaced=["member-0 was replaced"] * 2))
    assert prove_chaos(1, 3).problems == []
    chaos_ends(1, account(replaced=["member-0 was replaced"] * 3, sound=False))
    found = prove_chaos(1, 3)
    assert (found.sound, found.problems) == (False, ["replaced: member-0 was replaced"] * 3)


@pytest.mark.parametrize("code", [1, 3, 143])
def test_an_end_that_the_account_does_not_explain_is_not_sound(code: int, chaos_ends: Ends) -> None:
    chaos_ends(code, account())
    found = prove_kills(1, 3)
    assert (found.sound, found.problems) == (False, [f"it ended with {code}, and its account does not say why"])


def test_an_account_that_says_that_it_is_not_sound_is_believed(chaos_ends: Ends) -> None:
    chaos_ends(0, account(sound=False))
    found = prove_kills(1, 3)
    assert (found.sound, found.problems) == (False, ["its account says that it is not sound, and not why"])


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (0, "it ended with 0 and without an account"),
        (1, "it ended with 1 and without an account"),
        (2, "it cannot run here"),
    ],
)
def test_without_an_account_nothing_is_sound(code: int, problem: str, chaos_ends: Ends) -> None:
    chaos_ends(code, None)
    found = prove_kills(1, 3)
    assert (found.sound, found.problems) == (False, [problem])


def test_a_run_without_transactions_is_not_sound(chaos_ends: Ends) -> None:
    chaos_ends(VOID, account(Work(written=0, aborted=10, copied=0, group_commits=100)))
    assert prove_kills(1, 3).problems == [
        "void_because: only 0 transactions were written, and not 3",
        "void_because: only 0 records were copied, and not 1",
    ]


def test_half_an_account_is_none(chaos_ends: Ends) -> None:
    chaos_ends(0, account()[:100])
    found = prove_kills(1, 3)
    assert (found.sound, found.problems) == (False, ["it ended with 0 and without a whole account"])


def test_what_went_wrong_with_spark_is_told(chaos_ends: Ends) -> None:
    chaos_ends(1, account(spark={"exact": False, "lost": 2, "doubled": 0, "wrong": 0, "held_up": []}, sound=False))
    assert prove_chaos(1, 3).problems == ["Spark: 2 lost"]


def test_a_broker_that_does_not_live_through_the_frames_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async def killed(run: FuzzRun) -> None:
        os.kill(run.pid, signal.SIGKILL)

    monkeypatch.setattr(FuzzRun, "_send_all", killed)
    found = prove_frames(100, 7)
    assert (found.sound, found.figures["frames"], found.figures["seed"]) == (False, 0, 7)
    assert found.problems[0].startswith("the broker ended with -9 instead of a clean stop")
    assert found.command == "python -m tests.proof frames --frames 100 --seed 7"


def test_frames_have_their_seed_and_the_command_that_sends_them_again() -> None:
    found = prove_frames(300, 7)
    assert (found.sound, found.problems) == (True, [])
    assert (found.figures["frames"], found.figures["seed"]) == (300, 7)
    assert found.command == "python -m tests.proof frames --frames 300 --seed 7"
