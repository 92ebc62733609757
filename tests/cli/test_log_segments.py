"""`strandline log segments` and `strandline log epochs`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

RunTool = Callable[..., Result]
GOLDEN = Path(__file__).parent.parent / "golden"


def rows(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_segment_is_a_row(tool: RunTool, folder: Path, logs: list[Path]) -> None:
    found = rows(tool("segments", "--format", "json", folder))
    assert [row["base_offset"] for row in found] == [int(log.stem) for log in logs]
    assert [row["end_offset"] for row in found] == [*(row["base_offset"] for row in found[1:]), 83]
    assert sum(int(str(row["records"])) for row in found) == 83
    assert [row["is_active"] for row in found] == [False, False, True]
    assert [row["size_bytes"] for row in found] == [log.stat().st_size for log in logs]
    assert found[0]["codecs"] == ["none", "gzip", "snappy", "lz4", "zstd"]
    assert found[0]["first_timestamp"] == 1_700_000_000_000
    assert found[-1]["txnindex_entries"] == 1
    assert all(row["damage"] is None for row in found)


def test_the_table_says_the_same(tool: RunTool, folder: Path) -> None:
    text = tool("segments", folder).stdout
    assert "3 segments" in text
    assert "2023-11-14T22:13:20.000Z" in text
    assert "active" in text


def test_a_file_stands_for_its_segment_and_a_directory_for_all(tool: RunTool, data: Path, logs: list[Path]) -> None:
    assert len(rows(tool("segments", "--format", "json", logs[1]))) == 1
    assert len(rows(tool("segments", "--format", "json", logs[1].with_suffix(".index")))) == 1
    assert len(rows(tool("segments", "--format", "json", data))) == 3


def test_a_partition_without_segments_is_told_as_such(tool: RunTool, tmp_path: Path) -> None:
    folder = tmp_path / "empty-0"
    folder.mkdir()
    (folder / "leader-epoch-checkpoint").write_text("0\n0\n")
    assert tool("segments", folder).stdout == f"{folder}: no segments\n"
    assert "there is no segment; a broker would begin an empty log here" in tool("check", folder).stdout
    assert tool("find", "--offset", "1", folder).exit_code == 2
    assert "has no segments; there is nothing to clean" in tool("clean", folder).stderr


def test_damage_is_a_state_not_a_failure(tool: RunTool, folder: Path, logs: list[Path]) -> None:
    logs[0].write_bytes(logs[0].read_bytes()[:-1])
    logs[1].write_bytes(bytes(100) + logs[1].read_bytes())
    result = tool("segments", folder)
    assert result.exit_code == 0
    assert "bytes are a batch cut short" in result.stdout
    assert "damaged at position 0: no batch at position 0" in result.stdout


def test_kafkas_preallocated_indexes_count_their_entries_only(tool: RunTool) -> None:
    found = rows(tool("segments", "--format", "json", GOLDEN / "killed-4.3"))
    assert [(row["index_entries"], row["timeindex_entries"]) for row in found] == [(3, 3), (2, 2)]


def test_epochs_of_checkpoint_and_batches_side_by_side(tool: RunTool, folder: Path) -> None:
    found = rows(tool("epochs", "--format", "json", folder))
    starts = [(row["epoch"], row["checkpoint_start_offset"], row["first_offset"], row["last_offset"]) for row in found]
    assert starts == [(0, 0, 0, 27), (1, 28, 28, 55), (2, 56, 56, 82)]
    text = tool("epochs", folder)
    assert text.exit_code == 0
    assert "the log ends at 83" in text.stdout


def test_kafkas_epochs_agree_also_those_without_a_record_or_below_the_start(tool: RunTool) -> None:
    for directory in ("kraft-3.9", "kraft-4.3", "killed-4.3", "zookeeper-3.9"):
        assert tool("epochs", GOLDEN / directory).exit_code == 0
    remarks = {row["epoch"]: row["remark"] for row in rows(tool("epochs", "--format", "json", GOLDEN / "kraft-3.9"))}
    assert remarks[4] == "nothing written in it, or all compacted away"


def test_epochs_that_contradict_each_other(tool: RunTool, folder: Path) -> None:
    checkpoint = folder / "leader-epoch-checkpoint"
    checkpoint.write_text("0\n3\n0 0\n2 60\n9 99\n")
    result = tool("epochs", folder)
    assert result.exit_code == 1
    for remark in (
        "the checkpoint does not know it",
        "begins before the checkpoint says",
        "begins beyond the end of the log",
    ):
        assert remark in result.stdout
    checkpoint.write_text("0\n2\n")
    broken = tool("epochs", folder)
    assert broken.exit_code == 2
    assert "the checkpoint says 2 entries and has 0; a broker would make it anew" in broken.stderr
