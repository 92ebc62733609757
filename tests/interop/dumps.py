"""`strandline log dump` and `log check` beside Kafka's DumpLogSegments, on the same files.

Every line must be the same, and every complaint. Only what the two Kafkas print differently (tests/golden/README.md) is
taken out; with 4.3, whose lines are ours, not even that.
"""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

from click.testing import CliRunner, Result
from tests.golden.dump_text import complaints_in, without_differences
from tests.golden.make import DUMP_FLAGS, dumped_files
from tests.interop.kafka import Kafka

from strandline.cli.main import cli

GAPS = "Non-consecutive offsets in "  # which compaction leaves, and both tools tell
INDEXES = (".index", ".timeindex")


def partitions_of(data: Path) -> list[str]:
    return sorted(path.name for path in data.iterdir() if path.is_dir() and list(path.glob("*.log")))


def check_dumps_agree(kafka: Kafka, data: Path, partition: str, *, is_sound: bool = True) -> str:
    """Every kind of file in one partition's folder; returns what Kafka printed."""
    files = dumped_files(data, partition)
    printed = _check_agree(kafka, data, files, DUMP_FLAGS, is_sound=is_sound)
    indexes = [path for path in files if path.suffix in INDEXES]
    _check_agree(kafka, data, indexes, ("--verify-index-only",), is_sound=is_sound)
    return printed


def _check_agree(kafka: Kafka, data: Path, files: list[Path], flags: tuple[str, ...], *, is_sound: bool) -> str:
    theirs = kafka.dump_log_segments(files, *flags, folder=data)
    ours = strandline_log(data, "dump", *flags, *map(str, files))
    printed = ours.stdout_bytes.decode()
    assert theirs.exit_code == 0, theirs.stderr
    if kafka.series == "3.9":
        assert without_differences(printed) == without_differences(theirs.stdout)
    else:
        assert printed == theirs.stdout
    complaints = complaints_in(theirs.stderr)
    assert complaints_in(ours.stderr) == complaints
    if is_sound:
        assert [each for each in complaints if not each[0].startswith(GAPS)] == []
        assert "isvalid: false" not in theirs.stdout
        assert ours.exit_code == 0, ours.stderr
    return theirs.stdout


def check_sound(data: Path) -> None:
    result = strandline_log(data, "check", ".")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert result.stdout.startswith("Sound: "), result.stdout


def strandline_log(folder: Path, *arguments: str) -> Result:
    with chdir(folder):
        result = CliRunner().invoke(cli, ["log", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
