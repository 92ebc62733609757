"""`strandline log dump`: its options, JSON, and what damage looks like. Kafka's own dumps: test_log_dump_golden."""

from __future__ import annotations

import json
import shutil
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

RunTool = Callable[..., Result]


def rows(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def offsets_of(result: Result) -> list[object]:
    return [row["offset"] for row in rows(result) if row["type"] == "record"]


def test_a_folder_is_dumped_file_by_file_in_the_order_of_names(tool: RunTool, folder: Path) -> None:
    result = tool("dump", folder)
    assert result.exit_code == 0
    dumped = [line.removeprefix("Dumping ") for line in result.stdout.splitlines() if line.startswith("Dumping ")]
    assert dumped == [str(file) for file in sorted(folder.iterdir())]


def test_a_data_directory_is_dumped_with_its_checkpoints(tool: RunTool, data: Path) -> None:
    result = tool("dump", data)
    assert result.exit_code == 0
    assert "topic: orders partition: 0 offset: 83" in result.stdout
    assert f"Dumping {data}/.kafka_cleanshutdown\nbrokerEpoch: -1\n" in result.stdout
    assert "epoch: 1 startOffset: 28" in result.stdout


def test_json_has_an_object_for_each_batch_record_and_entry(tool: RunTool, folder: Path) -> None:
    found = rows(tool("dump", "--format", "json", folder))
    assert {row["type"] for row in found} == {
        "batch", "record", "index_entry", "timeindex_entry", "aborted_transaction", "producer", "leader_epoch",
    }  # fmt: skip
    records = [row for row in found if row["type"] == "record"]
    assert [row["offset"] for row in records] == list(range(83))
    assert records[5]["value"] == "state 1"
    assert records[5]["headers"] == [{"key": "number", "value": "1"}]
    marker = records[-1]
    assert (marker["controlType"], marker["coordinatorEpoch"]) == ("ABORT", 3)


def test_bytes_that_are_not_text_are_base64_in_json(tool: RunTool, folder: Path) -> None:
    found = [row for row in rows(tool("dump", "--format", "json", "--offsets", "80:81", folder)) if "key_base64" in row]
    assert [row["key_base64"] for row in found] == [b64encode(b"\xff\xfe").decode()]
    assert found[0]["value"] is None


def test_a_range_of_offsets_jumps_over_the_rest(tool: RunTool, folder: Path) -> None:
    assert offsets_of(tool("dump", "--format", "json", "--offsets", "30:37", folder)) == list(range(30, 37))
    assert offsets_of(tool("dump", "--format", "json", "--offsets", "79:", folder)) == [79, 80, 81, 82]
    assert offsets_of(tool("dump", "--format", "json", "--offsets", ":2", folder)) == [0, 1]
    for misuse, sentence in (
        ("5-7", "is not a range of offsets"),
        ("10:5", "the second number must be above the first"),
        ("5:5", "holds no offset"),
        ("0:9999999999999999999", "goes beyond the last offset there can be"),
    ):
        result = tool("dump", "--offsets", misuse, folder)
        assert result.exit_code == 2
        assert sentence in " ".join(result.stderr.split())


def test_shallow_shows_batches_only_and_no_data_hides_keys_and_values(tool: RunTool, logs: list[Path]) -> None:
    shallow = tool("dump", "--shallow", logs[0]).stdout
    assert "baseOffset: 0 " in shallow
    assert "| offset" not in shallow
    bare = tool("dump", "--no-print-data-log", logs[0]).stdout
    assert "| offset: 0 " in bare
    assert "payload" not in bare


def test_max_bytes_reads_no_more_and_says_nothing_of_the_rest(tool: RunTool, logs: list[Path]) -> None:
    result = tool("dump", "--max-bytes", "400", "--shallow", logs[0])
    assert result.stdout.count("baseOffset") < tool("dump", "--shallow", logs[0]).stdout.count("baseOffset")
    assert "invalid bytes" not in result.stdout


def test_index_checks_print_what_kafka_prints(tool: RunTool, folder: Path) -> None:
    result = tool("dump", "--index-sanity-check", folder)
    indexes = sorted([*folder.glob("*.index"), *folder.glob("*.timeindex")])
    assert result.stdout.splitlines()[1::2] == [f"{index} passed sanity check." for index in indexes]
    verified = tool("dump", "--verify-index-only", folder)
    assert verified.stdout.splitlines() == [f"Dumping {index}" for index in indexes]
    assert verified.exit_code == 0


def test_an_index_that_disagrees_with_the_log_is_told_in_kafkas_words(tool: RunTool, folder: Path) -> None:
    index = min(folder.glob("*.index"))
    damaged = bytearray(index.read_bytes())
    damaged[3] += 1  # the first entry's relative offset
    index.write_bytes(damaged)
    result = tool("dump", "--verify-index-only", index)
    assert result.exit_code == 1
    assert f"Mismatches in :{index}\n  Index offset: " in result.stderr


def test_a_time_index_that_disagrees_with_the_log_is_told_in_kafkas_words(tool: RunTool, folder: Path) -> None:
    index = min(folder.glob("*.timeindex"))
    damaged = bytearray(index.read_bytes())
    damaged[7] += 1  # the first entry's timestamp
    damaged[12 + 11] += 1  # the second entry's relative offset
    index.write_bytes(damaged)
    result = tool("dump", index)
    assert result.exit_code == 1
    assert "Found timestamp mismatch in :" in result.stderr
    assert "The following indexed offsets are not found in the log." in result.stderr


def test_an_index_without_its_log_is_printed_and_not_compared(tool: RunTool, folder: Path, tmp_path: Path) -> None:
    index = shutil.copy(min(folder.glob("*.index")), tmp_path)
    result = tool("dump", index)
    assert result.exit_code == 0
    assert "offset: " in result.stdout
    assert "not compared" in result.stderr


def test_an_empty_index_is_called_empty(tool: RunTool, tmp_path: Path) -> None:
    index = tmp_path / "00000000000000000000.index"
    index.touch()
    assert f"{index} is empty." in tool("dump", index).stdout


def test_a_flipped_bit_shows_as_an_invalid_batch(tool: RunTool, logs: list[Path]) -> None:
    damaged = bytearray(logs[0].read_bytes())
    damaged[70] ^= 1  # in the first batch, behind its head
    logs[0].write_bytes(damaged)
    result = tool("dump", "--shallow", logs[0])
    assert result.exit_code == 1
    assert result.stdout.count("isvalid: false") == 1


def test_random_bytes_are_counted_as_kafka_counts_them(tool: RunTool, logs: list[Path]) -> None:
    logs[0].write_bytes(bytes([0x55]) * 5000)
    result = tool("dump", logs[0])
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == f"Found 5000 invalid bytes at the end of {logs[0].name}"


def test_a_batch_cut_short_is_counted_as_kafka_counts_it(tool: RunTool, logs: list[Path]) -> None:
    logs[0].write_bytes(logs[0].read_bytes()[:-10])
    result = tool("dump", logs[0])
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[-1].startswith("Found ")
    assert lines[-1].endswith(f" invalid bytes at the end of {logs[0].name}")


def test_garbage_ends_the_dump_with_a_sentence(tool: RunTool, logs: list[Path]) -> None:
    logs[0].write_bytes(logs[0].read_bytes() + bytes(100))
    for arguments in ((), ("--offsets", "1000:")):
        assert tool("dump", logs[0], *arguments).exit_code == 1
    result = tool("dump", logs[0])
    assert result.stderr.startswith("strandline: ")
    assert "no batch at position" in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("00000000000000000000.snapshot", b"\0\1", "a producer snapshot has 10 bytes or more, this one 2"),
        ("00000000000000000000.txnindex", b"\0\7" + bytes(32), "unknown version 7"),
        ("leader-epoch-checkpoint", b"9\n", "the checkpoint's version is '9'"),
        ("recovery-point-offset-checkpoint", b"0\n2\na 0 1\n", "says 2 entries and has 1"),
        ("meta.properties", b"version=5\n", "version 5, which is neither 0 nor 1"),
        ("partition.metadata", b"hello", "does not begin with its version"),
    ],
)
def test_a_broken_file_of_each_kind_gives_a_sentence(
    tool: RunTool, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    result = tool("dump", path)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert str(path) in result.stderr


@pytest.mark.parametrize("command", ["dump", "segments", "check", "epochs", "find", "clean"])
def test_missing_and_foreign_paths_give_a_sentence(tool: RunTool, tmp_path: Path, command: str) -> None:
    extra = ["--offset", "1"] if command == "find" else []
    (tmp_path / "notes.txt").write_text("hello")
    for path, sentence in (
        (tmp_path / "nowhere", "there is no such file or folder"),
        (tmp_path / "notes.txt", "is not a file of a log"),
        (tmp_path, "neither a partition's folder nor a data directory"),
    ):
        result = tool(command, path, *extra)
        assert result.exit_code == 2
        assert sentence in result.stderr
        assert "Traceback" not in result.stderr
        assert result.stderr.count("\n") == 1


def test_what_waits_to_be_deleted_can_still_be_dumped(tool: RunTool, logs: list[Path]) -> None:
    aside = logs[0].rename(f"{logs[0]}.deleted")
    result = tool("dump", "--shallow", aside)
    assert result.exit_code == 0
    assert "baseOffset: 0 " in result.stdout


def test_a_snapshot_of_kraft_is_a_file_of_batches(tool: RunTool, logs: list[Path], tmp_path: Path) -> None:
    snapshot = tmp_path / "00000000000000000050-0000000003.checkpoint"
    shutil.copy(logs[0], snapshot)
    assert "Snapshot end offset: 50, epoch: 3\nbaseOffset: 0 " in tool("dump", snapshot).stdout
    assert tool("check", snapshot).exit_code == 0
