"""The benchmarks run and say what they measured. Nothing here looks at a speed."""

from __future__ import annotations

import json
import os
import sys

import pytest

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


def test_the_table_gives_each_row_a_line_and_a_verdict_where_there_is_an_aim() -> None:
    from benchmarks.measure import Aim, Figure, Row
    from benchmarks.table import as_text

    rows = [
        Row(what="good", unit="µs", ours=Figure(4, 4), aim=Aim(at_most=5)),
        Row(what="disturbed", unit="MB/s", ours=Figure(30, 60), aim=Aim(at_least=40)),
        Row(what="bad", unit="MB/s", ours=Figure(1, 1), share=Figure(0.5, 0.5), aim=Aim(at_least=0.6, of_share=True)),
        Row(what="just told", unit="M/s", ours=Figure(1.5, 1.5)),
    ]
    lines = as_text(rows, "title").splitlines()
    assert lines[0] == "title"
    assert [line.split("  ")[-1].strip() for line in lines[2:5]] == ["yes", "by CPU", "NO"]
    assert lines[5].endswith("1.50")


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
