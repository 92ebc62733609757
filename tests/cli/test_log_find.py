"""`strandline log find`: the way to a record, and where it ends (SPEC L4, L5)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from strandline.log.checkpoints import read_offsets
from strandline.log.filesystem import RealFileSystem
from strandline.log.log import Log
from strandline.log.recovery import open_log
from strandline.model.partitions import parse_partition_folder
from strandline.model.settings import LogSettings
from strandline.records.batch import read_head, split_batches
from strandline.records.record import Record, read_records

RunTool = Callable[..., Result]
GOLDEN = Path(__file__).parent.parent / "golden"
START_MS = 1_700_000_000_000


def found(result: Result) -> dict[str, Any]:
    answer = json.loads(result.stdout)
    assert isinstance(answer, dict)
    return answer


def test_every_offset_is_found_by_a_short_scan(tool: RunTool, folder: Path) -> None:
    for offset in range(83):
        answer = found(tool("find", "--format", "json", "--offset", offset, folder))
        assert answer["record"]["offset"] == offset
        (visit,) = answer["visits"]
        assert visit["scan"]["batches"] <= 5
        entry = visit["index_entry"]
        assert visit["scan"]["start"] == (0 if entry is None else entry["target"])
        assert entry is None or entry["key"] <= offset


def test_every_record_is_found_by_its_time(tool: RunTool, folder: Path) -> None:
    for number in range(20):
        answer = found(tool("find", "--format", "json", "--time", START_MS + 1000 * number + 2, folder))
        assert answer["record"]["offset"] == 4 * number + 2
        assert answer["skipped_segments"] == len([1 for base in bases(folder)[1:] if base <= 4 * number + 2])


def bases(folder: Path) -> list[int]:
    return [int(log.stem) for log in sorted(folder.glob("*.log"))]


def test_the_text_shows_each_step(tool: RunTool, folder: Path) -> None:
    lines = tool("find", "--time", "2023-11-14T22:13:25.001Z", folder).stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        "time", "segments", "segment", ".timeindex", ".index", "scan", "batch", "record",
    ]  # fmt: skip
    assert lines[0] == "time        2023-11-14T22:13:25.001Z (1700000005001)"
    assert lines[-1].startswith("record      | offset: 21 ")


def test_beyond_the_end_there_is_nothing(tool: RunTool, folder: Path) -> None:
    for arguments in (("--offset", "83"), ("--time", "2033-01-01")):
        result = tool("find", folder, *arguments)
        assert result.exit_code == 1
        assert "there is no such record: the log ends before it" in result.stdout


def test_an_offset_that_compaction_took_leads_to_the_next(tool: RunTool) -> None:
    result = tool("find", "--offset", "12", GOLDEN / "kraft-3.9" / "accounts-0")
    assert result.exit_code == 0
    assert "offset 12 is not there any more; 22 is the next one" in result.stdout


PARTITIONS = sorted({str(path.parent.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*-0/*.log")})


@pytest.mark.parametrize("name", PARTITIONS)
def test_what_is_found_is_what_the_library_finds(tool: RunTool, tmp_path: Path, name: str) -> None:
    """By every offset, and by times at, between and beyond those of the records; emptied batches lead on."""
    data = tmp_path / "data"
    shutil.copytree((GOLDEN / name).parent, data)
    folder = data / Path(name).name
    partition = parse_partition_folder(folder.name)
    assert partition is not None
    start = read_offsets(RealFileSystem(), str(data / "log-start-offset-checkpoint")).get(partition, 0)
    settings = LogSettings()
    log = open_log(RealFileSystem(), str(folder), partition, settings, now_ms=0, log_start_offset=start, is_clean=True)
    timestamps = set()
    for offset in range(log.log_start_offset, log.log_end_offset + 2):
        expected = first_record(log, offset)
        result = tool("find", "--format", "json", "--offset", offset, folder)
        assert result.exit_code == (0 if expected else 1)
        assert (found(result)["record"] or {}).get("offset") == (expected and expected.offset), offset
        timestamps.add(expected.timestamp if expected else 0)
    for timestamp in {each + delta for each in timestamps for delta in (-1, 0, 1) if each + delta >= 0}:
        by_time = log.find_by_timestamp(timestamp)
        result = tool("find", "--format", "json", "--time", timestamp, folder)
        assert result.exit_code == (0 if by_time else 1)
        assert (found(result)["record"] or {}).get("offset") == (by_time and by_time.offset), timestamp
    log.close(0)


def first_record(log: Log, offset: int) -> Record | None:
    """As a consumer gets it: batches from the one that holds the offset, records below it dropped."""
    if offset > log.log_end_offset:
        return None
    for batch in split_batches(log.read(offset, max_bytes=2**20).read()):
        for record in read_records(batch):
            if record.offset >= offset:
                return record
    return None


def test_a_batch_that_compaction_emptied_leads_to_the_next(tool: RunTool) -> None:
    result = tool("find", "--time", "2020-01-01", GOLDEN / "kraft-3.9" / "accounts-0")
    assert result.exit_code == 0
    assert "record      | offset: 22 " in result.stdout
    assert "batches looked into that hold no such record any more: 1" in result.stdout
    assert "skipped because they end earlier: none" in result.stdout


def test_a_record_below_the_logs_start_is_not_served_any_more(tool: RunTool) -> None:
    clicks = GOLDEN / "kraft-3.9" / "clicks-0"
    assert "below the log's start, 23" in tool("find", "--offset", "3", clicks).stdout
    assert found(tool("find", "--format", "json", "--time", "0", clicks))["record"]["offset"] == 23


def test_an_index_that_leads_astray_is_told_and_not_followed(tool: RunTool, folder: Path) -> None:
    index = min(folder.glob("*.index"))
    damaged = bytearray(index.read_bytes())
    damaged[7] += 1
    index.write_bytes(damaged)
    answer = found(tool("find", "--format", "json", "--offset", "12", folder))
    assert answer["record"]["offset"] == 12
    assert "where no batch begins; scanned from 0 instead" in answer["visits"][0]["notes"][0]


def test_without_indexes_the_scan_begins_at_the_start(tool: RunTool, folder: Path) -> None:
    for index in [*folder.glob("*.index"), *folder.glob("*.timeindex")]:
        index.unlink()
    assert found(tool("find", "--format", "json", "--offset", "60", folder))["record"]["offset"] == 60
    assert found(tool("find", "--format", "json", "--time", START_MS + 9000, folder))["record"]["offset"] == 36


@pytest.mark.parametrize("text", ["@-1h", "-3d", "@2023-11-14", "2023-11-14T23:00:00+01:00", "1700000000000"])
def test_times_come_in_many_forms(tool: RunTool, folder: Path, text: str) -> None:
    assert tool("find", f"--time={text}", folder).exit_code in (0, 1)


def test_usage_is_explained(tool: RunTool, data: Path, folder: Path) -> None:
    for arguments, sentence in (
        ((folder,), "give one of --offset N and --time T"),
        ((folder, "--offset", "1", "--time", "1"), "give one of --offset N and --time T"),
        ((folder, "--time", "yesterday"), "is not a time; write"),
        ((folder, "--offset", "-1"), "-1"),
        ((folder, "--offset", str(2**63)), "9223372036854775808 is not in the range"),
    ):
        result = tool("find", *arguments)
        assert result.exit_code == 2
        assert sentence in result.stderr
    (data / "orders-1").mkdir()
    result = tool("find", "--offset", "1", data)
    assert result.exit_code == 2
    assert f"holds 2 partitions: orders-0, orders-1; give the path of one, as in {data}/orders-0" in result.stderr
    for number in range(2, 40):
        (data / f"orders-{number}").mkdir()
    assert " and 20 more; give the path of one" in tool("find", "--offset", "1", data).stderr


def test_a_log_that_cannot_be_read_is_named(tool: RunTool, folder: Path, logs: list[Path]) -> None:
    """Damage is neither the end of the log nor the work of compaction."""
    whole = logs[0].read_bytes()
    first_bytes = read_head(whole).size_bytes
    for content, arguments, sentence in (
        (bytes(200), ("--offset", "1"), "position 0: no batch at position 0: its length reads 0"),
        (b"U" * 200, ("--offset", "1"), "position 0: no batch at position 0: the last 200 bytes are none"),
        (b"U" * 200, ("--time", "1"), "position 0: no batch at position 0: the last 200 bytes are none"),
        (
            whole[: first_bytes + 30],
            ("--offset", "4"),
            f"position {first_bytes}: the last 30 bytes are a batch cut short",
        ),
        (whole[:61] + b"\x7f" + whole[62:], ("--offset", "1"), "position 0: record at position 0"),
    ):
        logs[0].write_bytes(content)
        result = tool("find", *arguments, folder)
        assert result.exit_code == 1
        assert f"damage      {logs[0]}: {sentence}" in result.stdout
        assert "the log cannot be read beyond the damage; `strandline log check` tells more" in result.stdout
        assert "compact" not in result.stdout
        answer = found(tool("find", "--format", "json", *arguments, folder))
        assert answer["damage"].startswith(f"{logs[0]}: {sentence}")
        assert answer["record"] is None
