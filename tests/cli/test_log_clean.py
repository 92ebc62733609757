"""`strandline log clean`: the dry run, and the real one (SPEC C1-C6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

RunTool = Callable[..., Result]


def report(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert isinstance(answer, dict)
    return answer


def test_the_dry_run_says_of_each_segment_what_and_why(tool: RunTool, folder: Path) -> None:
    answer = report(tool("clean", "--format", "json", "--policy", "delete", "--set", "retention.ms=1000", folder))
    assert [row["is_deleted"] for row in answer["rows"]] == [True, True, True]
    assert answer["segments_deleted"] == 3
    text = tool("clean", "--set", "retention.ms=-1", folder).stdout
    assert "dry run with cleanup.policy=delete,compact" in text
    assert "Retention would delete 0 segments" in text
    assert "Compaction would run: dirty ratio 1.00 is above 0.50." in text
    assert "it is the active segment" in text


def test_the_high_watermark_of_the_checkpoint_holds_segments_back(tool: RunTool, data: Path, folder: Path) -> None:
    (data / "replication-offset-checkpoint").write_text("0\n1\norders 0 40\n")
    answer = report(tool("clean", "--format", "json", "--set", "retention.ms=1000", folder))
    assert answer["high_watermark"] == 40
    assert answer["segments_deleted"] == len([row for row in answer["rows"] if row["end_offset"] <= 40])
    assert answer["first_uncleanable_offset"] <= 40


def test_an_open_transaction_holds_compaction_back(tool: RunTool) -> None:
    payments = Path(__file__).parent.parent / "golden" / "kraft-3.9" / "payments-0"
    answer = report(tool("clean", "--format", "json", "--policy", "compact", payments))
    assert (answer["last_stable_offset"], answer["log_end_offset"]) == (36, 38)


def test_retention_for_real(tool: RunTool, data: Path, folder: Path, logs: list[Path]) -> None:
    marker = (data / ".kafka_cleanshutdown").read_bytes()
    bases = [int(log.stem) for log in logs]
    (data / "replication-offset-checkpoint").write_text(f"0\n1\norders 0 {bases[1]}\n")
    arguments = ("--execute", "--policy", "delete", "--set", "retention.ms=1000")
    answer = report(tool("clean", "--format", "json", *arguments, folder))
    assert answer["segments_deleted"] == 1
    assert sorted(folder.glob("*.log")) == logs[1:]
    assert not list(folder.glob("*.deleted"))
    assert (data / ".kafka_cleanshutdown").read_bytes() == marker
    assert tool("check", data).exit_code == 0
    assert "Retention deleted 0 segments." in tool("clean", *arguments, folder).stdout


def test_compaction_for_real_does_what_the_dry_run_said(tool: RunTool, data: Path, folder: Path) -> None:
    (data / "cleaner-offset-checkpoint").write_text("0\n1\nother 3 17\n")
    said = report(tool("clean", "--format", "json", "--policy", "compact", folder))
    going = sum(row["records_going"] or 0 for row in said["rows"])
    done = report(tool("clean", "--format", "json", "--execute", "--policy", "compact", folder))
    assert done["is_compacted"]
    assert done["records_read"] - done["records_written"] == going > 0
    assert done["bytes_after"] < done["bytes_before"]
    assert tool("check", data).exit_code == 0
    lines = (data / "cleaner-offset-checkpoint").read_text().splitlines()
    assert "other 3 17" in lines
    assert f"orders 0 {said['first_uncleanable_offset']}" in lines
    again = tool("clean", "--execute", "--policy", "compact", folder).stdout
    assert "Compaction did not run: " in again


def test_after_a_crash_the_log_is_recovered_first(tool: RunTool, data: Path, folder: Path, logs: list[Path]) -> None:
    (data / ".kafka_cleanshutdown").unlink()
    (data / "recovery-point-offset-checkpoint").unlink()
    logs[-1].write_bytes(logs[-1].read_bytes()[:-5])
    result = tool("clean", "--execute", "--policy", "delete", "--set", "retention.ms=-1", folder)
    assert result.exit_code == 0
    assert "cut short" in result.stderr
    assert not (data / ".kafka_cleanshutdown").exists()
    assert tool("check", data).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--execute",), "--execute needs --policy"),
        (("--set", "retention.ms=soon"), "retention.ms='soon': expected a whole number"),
        (("--set", "retention.days=3"), "where NAME is one of cleanup.policy"),
        (("--set", "retention.ms"), "write NAME=VALUE"),
        (("--policy", "burn"), "burn"),
    ],
)
def test_misuse_is_explained(tool: RunTool, folder: Path, arguments: tuple[str, ...], sentence: str) -> None:
    result = tool("clean", *arguments, folder)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())


def test_a_damaged_checkpoint_is_a_sentence(tool: RunTool, data: Path, folder: Path) -> None:
    (data / "replication-offset-checkpoint").write_text("garbage")
    result = tool("clean", folder)
    assert result.exit_code == 2
    assert "replication-offset-checkpoint: the checkpoint's version is 'garbage'" in result.stderr
