"""`strandline log clean`: the dry run, and the real one (SPEC C1-C6)."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from strandline.records.batch import read_head

GOLDEN = Path(__file__).parent.parent / "golden"
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


KEEP_ALL = ("--execute", "--policy", "delete", "--set", "retention.ms=-1")


def forget_the_clean_stop(data: Path) -> None:
    (data / ".kafka_cleanshutdown").unlink()
    (data / "recovery-point-offset-checkpoint").unlink()


def contents(directory: Path, pattern: str = "*") -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(directory.rglob(pattern)) if path.is_file()}


def test_after_a_crash_a_sound_log_is_cleaned_and_gets_no_mark_of_a_clean_stop(
    tool: RunTool, data: Path, folder: Path
) -> None:
    forget_the_clean_stop(data)
    before = contents(folder, "*.log")
    assert tool("clean", *KEEP_ALL, folder).exit_code == 0
    assert contents(folder, "*.log") == before
    assert not (data / ".kafka_cleanshutdown").exists()
    assert tool("check", data).exit_code == 0


def flip_a_bit(logs: list[Path]) -> None:
    data = bytearray(logs[0].read_bytes())
    data[300] ^= 4
    logs[0].write_bytes(data)


def tear_the_tail(logs: list[Path]) -> None:
    logs[-1].write_bytes(logs[-1].read_bytes()[:-5])


def write_a_text(logs: list[Path]) -> None:
    logs[0].write_text("Dear diary, today I kept notes in a file of this name.\n" * 20)


def lose_a_segment(logs: list[Path]) -> None:
    logs[1].unlink()


def leave_a_swap(logs: list[Path]) -> None:
    Path(f"{logs[0]}.swap").write_bytes(logs[0].read_bytes())


def promise_too_much(logs: list[Path]) -> None:
    (logs[0].parent.parent / "log-start-offset-checkpoint").write_text("0\n1\norders 0 500\n")


def leap_over_what_was_flushed(logs: list[Path]) -> None:
    """The last batch's base offset, which no CRC covers."""
    (logs[0].parent.parent / "recovery-point-offset-checkpoint").write_text("0\n1\norders 0 83\n")
    data = bytearray(logs[-1].read_bytes())
    position, last = 0, 0
    while position < len(data):
        last, position = position, position + read_head(data, position).size_bytes
    data[last + 6] = 1
    logs[-1].write_bytes(data)


DAMAGE = {
    "flipped bit": (flip_a_bit, "CRC of the batch"),
    "torn tail": (tear_the_tail, "bytes are a batch cut short"),
    "text": (write_a_text, "no batch at position 0"),
    "hole": (lose_a_segment, "but the one before it ends at"),
    "swap": (leave_a_swap, "left over from unfinished work"),
    "log start": (promise_too_much, "says 500, but the log ends at 83"),
    "leap": (leap_over_what_was_flushed, "leaps over offset 83"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_log_is_left_to_a_broker(
    tool: RunTool, data: Path, folder: Path, logs: list[Path], kind: str
) -> None:
    """Opening a log recovers it. Whoever asked for cleaning did not ask for that."""
    forget_the_clean_stop(data)
    damage, sentence = DAMAGE[kind]
    damage(logs)
    (data / ".lock").unlink()
    before = contents(data)
    result = tool("clean", *KEEP_ALL, folder)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert f"{folder} is damaged at {folder}" in result.stderr
    assert sentence in result.stderr
    assert result.stderr.endswith(
        "; nothing was changed; `strandline log check` tells more; start a broker on it to recover it\n"
    )
    looked = tool("clean", *KEEP_ALL[1:], folder)
    assert looked.exit_code == 1
    assert sentence in looked.stderr
    assert "--execute would change nothing" in looked.stderr
    assert contents(data) == before


def test_a_clean_stop_does_not_vouch_for_bytes_that_changed_since(
    tool: RunTool, data: Path, folder: Path, logs: list[Path]
) -> None:
    flip_a_bit(logs)
    before = contents(data)
    for policy in ("delete", "compact", "both"):
        assert tool("clean", "--execute", "--policy", policy, folder).exit_code == 1
    assert contents(data) == before


@pytest.mark.parametrize("seed", range(40))
def test_whatever_the_damage_cleaning_is_no_recovery(tool: RunTool, data: Path, folder: Path, seed: int) -> None:
    """Either it refuses and changes nothing, or no byte of the log is another, for retention keeps all."""
    generator = random.Random(seed)
    if generator.randrange(3):
        (data / ".kafka_cleanshutdown").unlink()
    recovery_point = generator.choice([0, 30, 83])
    (data / "recovery-point-offset-checkpoint").write_text(f"0\n1\norders 0 {recovery_point}\n")
    path = generator.choice(sorted(folder.iterdir()))
    content = bytearray(path.read_bytes())
    kind = generator.choice(["bit", "bit", "cut", "more", "zeros"])
    if kind == "bit" and content:
        content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
    elif kind == "cut":
        del content[generator.randint(0, len(content)) :]
    elif kind == "more":
        content += generator.randbytes(generator.randint(1, 100))
    else:
        content += bytes(generator.randint(1, 100))
    path.write_bytes(content)
    before, logs_before = contents(data), contents(folder, "*.log")
    result = tool("clean", *KEEP_ALL, folder)
    if result.exit_code == 0:
        assert contents(folder, "*.log") == logs_before
    else:
        assert contents(data) == before


def test_kafkas_logs_are_cleaned_where_they_are_sound(tool: RunTool, tmp_path: Path) -> None:
    partitions = sorted(path.parent for path in GOLDEN.glob("*/*-0/leader-epoch-checkpoint"))
    assert len(partitions) == 8
    for partition in partitions:
        data = tmp_path / partition.parent.name
        shutil.copytree(partition.parent, data, dirs_exist_ok=True)
        policy = "compact" if partition.name.startswith("accounts") else "delete"
        result = tool("clean", "--execute", "--policy", policy, "--set", "retention.ms=-1", data / partition.name)
        assert result.exit_code == 0, (partition, result.stderr)


def test_the_size_before_is_that_of_the_files(tool: RunTool, folder: Path, logs: list[Path]) -> None:
    size_bytes = sum(log.stat().st_size for log in logs)
    assert report(tool("clean", "--format", "json", *KEEP_ALL, folder))["bytes_before"] == size_bytes


def test_execute_takes_one_partitions_folder_and_nothing_else(tool: RunTool, data: Path, logs: list[Path]) -> None:
    for path in (data, logs[0]):
        result = tool("clean", *KEEP_ALL, path)
        assert result.exit_code == 2
        assert "--execute needs PATH to be the folder of one partition" in " ".join(result.stderr.split())


def test_execute_leaves_alone_what_is_no_topics_log(tool: RunTool, data: Path, folder: Path) -> None:
    (data / "empty-0").mkdir()
    (data / "empty-0" / "partition.metadata").write_text("version: 0\n")
    for name in ("copy", "__cluster_metadata-0"):
        shutil.copytree(folder, data / name)
    before = contents(data)
    for name, sentence in (
        ("copy", "is not named <topic>-<partition>"),
        ("__cluster_metadata-0", "is the log of a KRaft quorum"),
        ("empty-0", "has no segments; there is nothing to clean"),
    ):
        result = tool("clean", *KEEP_ALL, data / name)
        assert result.exit_code == 2
        assert sentence in result.stderr
    assert contents(data) == before


def test_one_damaged_partition_does_not_hide_the_others_from_a_dry_run(
    tool: RunTool, data: Path, folder: Path, logs: list[Path]
) -> None:
    shutil.copytree(folder, data / "sound-0")
    write_a_text(logs)
    result = tool("clean", "--format", "json", data)
    assert result.exit_code == 1
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["folder"] for row in rows if row["damage"] is None] == [f"{data}/sound-0"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--execute",), "--execute needs --policy"),
        (("--set", "retention.ms=soon"), "retention.ms='soon': expected a whole number"),
        (("--set", "retention.days=3"), "where NAME is one of compression.type"),
        (("--set", "cleanup.policy=compact"), "--set cleanup.policy=compact: use --policy for that"),
        (("--policy", "delete", "--set", "cleanup.policy=compact", "--execute"), "use --policy for that"),
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
    before = contents(data)
    for arguments in ((), KEEP_ALL):
        assert tool("clean", *arguments, folder).exit_code == 2
    assert contents(data) == before
    result = tool("clean", folder)
    assert "replication-offset-checkpoint: the checkpoint's version is 'garbage'" in result.stderr
