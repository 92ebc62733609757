"""`strandline log dump` and `log check` beside Kafka's DumpLogSegments, on the same files.

Every line must be the same, and every complaint. Only what the two Kafkas print differently (tests/golden/README.md) is
taken out; with 4.3, whose lines are ours, not even that.
"""

from __future__ import annotations

import re
from contextlib import chdir
from pathlib import Path

from click.testing import CliRunner, Result
from tests.golden.dump_text import complaints_in, without_differences
from tests.golden.make import DUMP_FLAGS, dumped_files
from tests.interop.kafka import Kafka, ToolResult

from strandline.cli.main import cli

GAPS = "Non-consecutive offsets in "  # which compaction leaves, and both tools tell
EMPTY_BATCH_INDEXED = re.compile(r"  Index timestamp: (\d+), log timestamp: -1")
INDEXES = (".index", ".timeindex")


def partitions_of(data: Path) -> list[str]:
    return sorted(path.name for path in data.iterdir() if path.is_dir() and list(path.glob("*.log")))


def check_dumps_agree(kafka: Kafka, data: Path, partition: str) -> ToolResult:
    """Every kind of file in one partition's folder; returns what Kafka said."""
    files = dumped_files(data, partition)
    printed = _check_agree(kafka, data, files, DUMP_FLAGS)
    _check_agree(kafka, data, [path for path in files if path.suffix in INDEXES], ("--verify-index-only",))
    return printed


def _check_agree(kafka: Kafka, data: Path, files: list[Path], flags: tuple[str, ...]) -> ToolResult:
    theirs = kafka.dump_log_segments(files, *flags, folder=data)
    ours = strandline_log(data, "dump", *flags, *map(str, files))
    printed = ours.stdout_bytes.decode()
    assert theirs.exit_code == 0, theirs.stderr
    if kafka.series == "3.9":
        assert without_differences(printed) == without_differences(theirs.stdout)
    else:
        assert printed == theirs.stdout
    assert complaints_in(ours.stderr) == complaints_in(theirs.stderr)
    return theirs


def empty_batches_indexed(dump: ToolResult) -> list[str]:
    """Complaints that an entry of a time index is of a batch without records; Kafka's own cleaner makes these, too."""
    found = [(line, EMPTY_BATCH_INDEXED.fullmatch(line)) for _, line in complaints_in(dump.stderr)]
    return [line for line, match in found if match and re.search(rf" count: 0 .* \w+Time: {match[1]} ", dump.stdout)]


def check_praised(dump: ToolResult) -> None:
    """Nothing said that is not said of Kafka's own sound files."""
    harmless = empty_batches_indexed(dump)
    complaints = complaints_in(dump.stderr)
    assert [each for each in complaints if not each[0].startswith(GAPS) and each[1] not in harmless] == []
    assert "isvalid: false" not in dump.stdout


def check_sound(data: Path) -> None:
    result = strandline_log(data, "check", ".")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    assert result.stdout.startswith("Sound: "), result.stdout


def strandline_log(folder: Path, *arguments: str) -> Result:
    with chdir(folder):
        result = CliRunner().invoke(cli, ["log", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
