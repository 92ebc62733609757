"""The guard of `make bench`: what grows dearer is seen, on a like machine, and nothing else is remembered."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from benchmarks.machine import Machine
    from benchmarks.measure import Row

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture(autouse=True)
def _checkout_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [CHECKOUT, *sys.path])


def machine(features: str = "AVX-512") -> Machine:
    from benchmarks.machine import Machine

    return Machine("Some Processor", features, 2, 16, "6.18.1", "ext4 on a virtual disk", "3.11.7", True)


def row(what: str, twin: str, share_of_cpu: float) -> Row:
    from benchmarks.measure import Figure, Row

    even = Figure(1, 1)
    return Row(what=what, unit="µs", ours=even, twin=twin, theirs=even, share=Figure(0.9, share_of_cpu))


def test_a_row_beside_a_bare_loop_is_guarded_and_others_are_not() -> None:
    from benchmarks.guard import ratios_of

    rows = [row("produce", "a bare loop", 0.5), row("crc", "a copy of it", 0.5)]
    assert ratios_of(rows) == {"produce": 2.0}


def test_growth_from_one_partition_to_many_is_guarded() -> None:
    from benchmarks.guard import GROWTH, ratios_of
    from benchmarks.spreading import what_of

    found = ratios_of([row(what_of(1), "as many files", 0.5), row(what_of(2_000), "as many files", 0.4)])
    assert found == {what_of(1): 2.0, what_of(2_000): 2.5, GROWTH: 1.25}
    assert GROWTH not in ratios_of([row(what_of(1), "as many files", 0.5)])


def test_a_row_above_what_was_accepted_is_too_dear_by_more_than_the_tolerance() -> None:
    from benchmarks.guard import judge

    assert judge({"produce": 2.2}, {"produce": 2.0})[1]
    lines, is_kept = judge({"produce": 2.4}, {"produce": 2.0})
    assert not is_kept
    assert [line.partition(": TOO DEAR")[0] for line in lines] == [
        "produce: 2.40 times the bare loop's CPU, where 2.00 is usual"
    ]


def test_a_row_far_below_what_is_usual_is_told_and_kept() -> None:
    from benchmarks.guard import judge

    lines, is_kept = judge({"fetch": 0.8}, {"fetch": 1.6})
    assert is_kept
    assert [line.partition(" is usual: ")[2] for line in lines] == [
        "much cheaper than usual: accept it with --accept, or find out what went wrong with the bare loop"
    ]
    assert judge({"fetch": 1.5}, {"fetch": 1.6})[0][0].endswith(": kept")


def test_a_row_that_has_nothing_to_be_compared_with_says_so() -> None:
    from benchmarks.guard import judge

    assert judge({"produce": 2.4}, {}) == (
        ["produce: 2.40 times the bare loop's CPU; nothing of a like machine to compare it with yet"],
        True,
    )


def test_what_is_usual_was_accepted_for_a_like_machine_or_else_is_the_median_of_its_history(tmp_path: Path) -> None:
    from benchmarks import guard

    ceilings, history = str(tmp_path / "ceilings.json"), str(tmp_path / "history.jsonl")
    guard.accept({"produce": 2.0}, machine(), ceilings)
    guard.accept({"fetch": 1.2}, machine(), ceilings)
    for commit, ratio in (("one", 3.0), ("two", 3.2), ("three", 9.0)):
        guard.remember({"produce": ratio}, machine("no AVX-512"), commit, history)
    assert guard.usual_of(machine(), "four", ceilings, history) == {"produce": 2.0, "fetch": 1.2}
    assert guard.usual_of(machine("no AVX-512"), "four", ceilings, history) == {"produce": 3.2}
    assert guard.usual_of(machine("no AVX-512"), "three", ceilings, history) == {"produce": 3.1}
    assert guard.usual_of(machine("another"), "four", ceilings, history) == {}


def write_history(path: Path, *found: tuple[str, str, float]) -> str:
    lines = [
        {"commit": commit, "at": at, "machine": machine().likeness, "ratios": {"fetch": ratio}}
        for commit, at, ratio in found
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_what_was_accepted_lets_no_request_become_dearer_than_the_history_since_then(tmp_path: Path) -> None:
    from benchmarks import guard

    ceilings = str(tmp_path / "ceilings.json")
    guard.accept({"fetch": 1.6}, machine(), ceilings)
    cheaper = [("one", "2999-01-01 00:00", 0.81), ("two", "2999-01-02 00:00", 0.83), ("three", "2999-01-03 00:00", 1.9)]
    usual = guard.usual_of(machine(), "four", ceilings, write_history(tmp_path / "history.jsonl", *cheaper))
    assert usual == {"fetch": 0.83}
    assert not guard.judge({"fetch": 1.8}, usual)[1]
    dearer = [("one", "2999-01-01 00:00", 1.9)]
    usual = guard.usual_of(machine(), "four", ceilings, write_history(tmp_path / "history.jsonl", *dearer))
    assert usual == {"fetch": 1.6}


def test_whoever_accepts_dearer_requests_is_not_held_to_what_was_found_before(tmp_path: Path) -> None:
    from benchmarks import guard

    ceilings = str(tmp_path / "ceilings.json")
    history = write_history(tmp_path / "history.jsonl", ("one", "2020-01-01 00:00", 0.81))
    assert guard.usual_of(machine(), "two", ceilings, history) == {"fetch": 0.81}
    guard.accept({"fetch": 1.6}, machine(), ceilings)
    assert guard.usual_of(machine(), "two", ceilings, history) == {"fetch": 1.6}


def test_a_row_that_was_never_accepted_is_said_to_drift(tmp_path: Path) -> None:
    from benchmarks import guard

    ceilings = str(tmp_path / "ceilings.json")
    guard.accept({"fetch": 1.6}, machine(), ceilings)
    assert guard.never_accepted({"fetch": 1.5}, machine(), ceilings) == []
    assert guard.never_accepted({"fetch": 1.5, "produce": 2.0, "round": 1.1}, machine(), ceilings) == [
        "Never accepted for such a machine, so what is usual drifts with its history until --accept: produce; round"
    ]


def test_a_newer_kernel_is_a_like_machine_and_another_python_is_not() -> None:
    assert replace(machine(), kernel="6.19.0", memory_gb=32).likeness == machine().likeness
    assert replace(machine(), python="3.12.1").likeness != machine().likeness
    assert replace(machine(), has_compiled_module=False).likeness != machine().likeness


def test_history_has_a_line_for_each_commit_and_machine_with_the_least_that_was_found(tmp_path: Path) -> None:
    from benchmarks import guard

    path = str(tmp_path / "history.jsonl")
    for commit, features, ratio in (("one", "A", 2.4), ("one", "A", 2.1), ("one", "B", 2.3), ("two", "A", 3.0)):
        guard.remember({"produce": ratio}, machine(features), commit, path)
    kept = [(line["commit"], line["machine"], line["ratios"]) for line in guard.read_history(path)]
    ours, other = machine("A").likeness, machine("B").likeness
    assert kept == [
        ("one", ours, {"produce": 2.1}),
        ("one", other, {"produce": 2.3}),
        ("two", ours, {"produce": 3.0}),
    ]


def test_where_nothing_was_measured_or_nothing_was_committed_nothing_is_remembered(tmp_path: Path) -> None:
    from benchmarks import guard

    path = tmp_path / "history.jsonl"
    assert not guard.remember({}, machine(), "one", str(path))
    assert not guard.remember({"produce": 2.0}, machine(), "one+", str(path))
    assert not path.exists()
    assert guard.remember({"produce": 2.0}, machine(), "one", str(path))


def test_what_was_accepted_is_in_git_by_machine() -> None:
    from benchmarks.guard import CEILINGS, HISTORY, read_history

    with open(CEILINGS, encoding="utf-8") as file:
        accepted = json.load(file)
    assert all("cores of" in likeness and ratios for likeness, ratios in accepted.items())
    assert all(line["ratios"] for line in read_history(HISTORY))


@pytest.mark.parametrize(
    ("flags", "features"),
    [
        ({"avx512f", "avx512vl", "vpclmulqdq", "sse4_2", "pclmulqdq"}, "AVX-512"),
        ({"vpclmulqdq", "sse4_2", "pclmulqdq"}, "no AVX-512"),
        (set(), "neither AVX-512 nor a crc32 instruction"),
    ],
)
def test_processors_of_one_name_are_told_apart_by_what_the_code_asks_of_them(flags: set[str], features: str) -> None:
    from benchmarks.machine import features_among

    assert features_among(flags) == features


def test_a_machine_says_what_it_is_in_one_line() -> None:
    from benchmarks.machine import this_machine

    assert str(machine()) == (
        "2 cores of Some Processor, AVX-512, Python 3.11 (3.11.7), 16 GB, Linux 6.18.1, ext4 on a virtual disk"
    )
    assert this_machine().cores == os.cpu_count()
