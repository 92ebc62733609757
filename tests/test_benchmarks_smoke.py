"""The benchmarks run and say what they measured. Nothing here looks at a speed."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from benchmarks.measure import Row

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@pytest.fixture(autouse=True)
def _scratch_in_test_folder(tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(sys, "path", [CHECKOUT, *sys.path])  # `python -m benchmarks` runs in the checkout


def test_a_quick_run_prints_its_rows_as_json_and_leaves_no_file(
    tmp_path: os.PathLike[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.__main__ import main

    assert main(["--quick", "--only", "truncate", "--only", "crc", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["twin"] for row in rows] == ["ftruncate", "a copy of it"]
    assert all(row["ours"]["wall"] > 0 and row["share"]["wall"] > 0 for row in rows)
    assert os.listdir(tmp_path) == []


def test_the_way_to_spark_is_measured_without_spark(capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks.spark import main

    assert main(["--quick", "--decode-only"]) == 0
    _, head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["what", "bytes", "rows/s"]
    assert [line.split("  ")[0] for line in lines] == ["decode alone, one core"] * 2


def test_rows_are_printed_as_they_come_and_stay_when_the_run_is_broken_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.__main__ import BROKEN_OFF, main
    from benchmarks.catalogue import BENCHMARKS

    printed: list[str] = []

    def break_off(_: object) -> NoReturn:
        printed.append(capsys.readouterr().out)
        raise KeyboardInterrupt

    monkeypatch.setitem(BENCHMARKS, "truncate", break_off)
    run = ["--quick", "--only", "crc", "--only", "truncate"]
    assert main(run) == BROKEN_OFF
    assert [line.partition("  ")[0] for line in printed[0].splitlines()[1:]] == ["what", "CRC-32C of 16 KiB"]
    capsys.readouterr()
    assert main([*run, "--format", "json"]) == BROKEN_OFF
    assert [row["what"] for row in json.loads(capsys.readouterr().out)] == ["CRC-32C of 16 KiB"]


def test_without_a_choice_the_guarded_rows_are_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks.__main__ import main
    from benchmarks.catalogue import BENCHMARKS

    asked: list[str] = []

    def ask(name: str, _: object) -> list[Row]:
        asked.append(name)
        return []

    for name in BENCHMARKS:
        monkeypatch.setitem(BENCHMARKS, name, partial(ask, name))
    assert main(["--quick"]) == 0
    assert asked == ["produce-16k", "produce-1m", "produce-tiny", "produce-round", "fetch-1m", "fetch-64k"]
    asked.clear()
    assert main(["--quick", "--all"]) == 0
    assert asked == list(BENCHMARKS)
    with pytest.raises(SystemExit):
        main(["--all", "--only", "crc"])
    assert "not allowed with" in capsys.readouterr().err


def test_a_row_has_a_line_and_a_verdict_where_there_is_an_aim() -> None:
    from benchmarks.measure import Aim, Figure, Row
    from benchmarks.table import as_line

    rows = [
        Row(what="good", unit="µs", ours=Figure(4, 4), aim=Aim(at_most=5)),
        Row(what="disturbed", unit="MB/s", ours=Figure(30, 60), aim=Aim(at_least=40)),
        Row(what="bad", unit="MB/s", ours=Figure(1, 1), share=Figure(0.5, 0.5), aim=Aim(at_least=0.6, of_share=True)),
        Row(what="just told", unit="M/s", ours=Figure(1.5, 1.5)),
    ]
    lines = [as_line(row, has_colours=False) for row in rows]
    assert [line.split("  ")[-1].strip() for line in lines[:3]] == ["yes", "by CPU", "NO"]
    assert lines[3].endswith("1.50")
    assert as_line(rows[2], has_colours=True) == f"\x1b[31m{lines[2]}\x1b[0m"


def test_turns_are_taken_in_changing_order() -> None:
    from benchmarks.measure import Timing, interleave, microseconds, share

    order: list[str] = []

    def turn(name: str, wall_s: float) -> Timing:
        order.append(name)
        return Timing(wall_s, wall_s)

    ours, theirs = interleave(2, lambda: turn("ours", 4e-6), lambda: turn("theirs", 2e-6))
    assert order == ["ours", "theirs", "theirs", "ours"]
    assert microseconds(ours).wall == pytest.approx(4)
    assert share(ours, theirs).wall == pytest.approx(0.5)
