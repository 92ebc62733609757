"""The tool as a process: quick to start, quiet when its reader leaves, and the same by every name."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import strandline
from strandline.cli import output, progress
from strandline.cli.main import LOG_COMMANDS, LazyGroup, cli
from strandline.cli.output import iso_time, size_text, time_and_ms
from strandline.history.lines import line_of

GOLDEN = Path(__file__).parent.parent / "golden"
ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src")}
HEAVY = {"rich", "lz4", "zstandard", "cramjam"}


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=60)


CLOSED = "strandline: the output cannot be written: standard output is closed; /dev/null takes anything\n"


def imported(*arguments: str | Path) -> set[str]:
    result = run("-X", "importtime", "-m", "strandline", *arguments)
    lines = [line for line in result.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("log", "--help")])
def test_help_imports_next_to_nothing(arguments: tuple[str, ...]) -> None:
    modules = imported(*arguments)
    assert "click" in modules
    assert not {module.partition(".")[0] for module in modules} & {*HEAVY, "crc32c"}
    assert {module for module in modules if module.startswith("strandline")} == {
        "strandline", "strandline.cli", "strandline.cli.main", "strandline.interrupts",
    }  # fmt: skip


def test_a_dump_imports_no_table_and_no_codec_that_it_does_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_text("0\n1\n3 1000\n")
    modules = imported("log", "dump", path)
    assert "strandline.cli.dump_states" in modules
    assert not {module.partition(".")[0] for module in modules} & HEAVY
    assert not modules & {"strandline.log.log", "strandline.log.recovery", "strandline.cli.log_check"}


@pytest.mark.parametrize(
    "arguments", [("topic", "list"), ("consume", "t"), ("produce", "t"), ("group", "list"), ("config", "get", "t")]
)
def test_a_command_of_a_client_imports_no_broker_and_nothing_heavy(arguments: tuple[str, ...]) -> None:
    modules = imported(*arguments, "-b", "127.0.0.1:1")
    assert "strandline.client.connection" in modules
    assert not {module.partition(".")[0] for module in modules} & HEAVY
    packages = {module.split(".")[1] for module in modules if module.startswith("strandline.")}
    assert packages <= {"cli", "client", "interrupts", "log", "model", "records", "wire"}
    spoken = {module for module in modules if module.startswith("strandline.wire.messages.")}
    assert len(spoken) <= 8


@pytest.mark.parametrize("arguments", [("--help",), ("topic", "--help"), ("bench", "--help")])
def test_help_of_groups_imports_no_client(arguments: tuple[str, ...]) -> None:
    assert not [module for module in imported(*arguments) if module.startswith(("strandline.client", "asyncio"))]


def test_module_and_version() -> None:
    result = run("-m", "strandline", "--version")
    assert result.stdout == f"strandline {strandline.__version__}\n"
    assert run("-m", "strandline", "nonsense").returncode == 2


def test_a_reader_that_leaves_is_no_failure(logs: list[Path]) -> None:
    copies = [str(logs[0])] * 200  # more than a pipe holds
    command = [sys.executable, "-m", "strandline", "log", "dump", *copies]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"Dumping ")
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == output.EXIT_BROKEN_PIPE


@pytest.mark.parametrize("length", [1, 100_000], ids=["buffered", "at once"])
def test_a_full_disk_under_the_output_is_not_blamed_on_the_file(tmp_path: Path, length: int) -> None:
    history = tmp_path / "history.jsonl"
    history.write_bytes(line_of("send", process="anna", topic="orders", partition=0, value="v" * length, offset=0))
    checkpoint = tmp_path / "leader-epoch-checkpoint"
    checkpoint.write_text("0\n1\n3 1000\n")
    for arguments in (["check-history", history], ["log", "dump", checkpoint]):
        with open("/dev/full", "wb") as full:
            command = [sys.executable, "-m", "strandline", *map(str, arguments)]
            result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False)
        assert result.stderr == b"strandline: the output cannot be written: No space left on device\n"
        assert result.returncode == output.EXIT_UNREADABLE


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["log", "--help"], ["log", "dump", "--help"]])
def test_a_full_disk_under_a_help_text_is_told_in_a_sentence(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "strandline", *arguments]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False)
    assert result.stderr == b"strandline: the output cannot be written: No space left on device\n"
    assert result.returncode == output.EXIT_UNREADABLE


def test_the_help_of_a_group_is_that_of_its_commands() -> None:
    assert isinstance(cli, LazyGroup)
    groups = [cli]
    while groups:
        group = groups.pop()
        context = click.Context(group)
        for name, lazy in group.lazy.items():
            command = group.get_command(context, name)
            assert command is not None
            assert command.name == name
            assert command.get_short_help_str(limit=200) == lazy.summary
            assert command.help is not None
            assert command.help.startswith(lazy.summary)
            if isinstance(command, LazyGroup):
                groups.append(command)
    assert CliRunner().invoke(cli, ["log", "nonsense"]).exit_code == 2


@pytest.mark.parametrize("name", LOG_COMMANDS)
def test_every_command_has_both_formats(name: str) -> None:
    arguments = ["log", name, str(GOLDEN / "kraft-3.9" / "accounts-0"), *(["--offset", "30"] if name == "find" else [])]
    in_text = CliRunner().invoke(cli, arguments)
    in_json = CliRunner().invoke(cli, [*arguments, "--format", "json"])
    assert in_text.exit_code == in_json.exit_code == 0
    rows = [json.loads(line) for line in in_json.stdout.splitlines()]
    assert rows
    assert all(isinstance(row, dict) and row for row in rows)
    with pytest.raises(json.JSONDecodeError):
        json.loads(in_text.stdout.splitlines()[0])


def test_the_tour_ends_well() -> None:
    result = run(ROOT / "examples" / "log_tour.py")
    assert result.returncode == 0, result.stderr
    for command in ("segments", "dump", "find", "epochs", "clean", "check"):
        assert f"$ strandline log {command} " in result.stdout
    assert "is_duplicate=True" in result.stdout
    assert "Sound: 1 partition" in result.stdout


def test_times_and_sizes_as_people_read_them() -> None:
    assert iso_time(1_700_000_000_123) == "2023-11-14T22:13:20.123Z"
    assert iso_time(-1) == "none"
    assert iso_time(2**62) == str(2**62)
    assert time_and_ms(0) == "1970-01-01T00:00:00.000Z (0)"
    assert [size_text(size) for size in (0, 1023, 1024, 3 * 2**30)] == ["0 B", "1023 B", "1.0 KiB", "3.0 GiB"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_scan_shows_a_bar_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, total_bytes, is_shown in (
        (Terminal(), progress.WORTH_SHOWING_BYTES, True),
        (Terminal(), progress.WORTH_SHOWING_BYTES - 1, False),
        (io.StringIO(), progress.WORTH_SHOWING_BYTES, False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress.scanning("checking", total_bytes) as advance:
            for _ in range(16):
                advance(total_bytes // 16)
        assert ("checking" in stream.getvalue()) == is_shown


@pytest.mark.parametrize(
    "arguments", [("simulate", "--seconds", "1"), ("check-history", "examples/history.jsonl"), ("log", "check", ".")]
)
def test_a_closed_standard_output_is_told_in_a_sentence(arguments: tuple[str, ...]) -> None:
    for closed, told in ((">&-", CLOSED), (">&- 2>&-", "")):
        command = ["sh", "-c", f'exec "$0" "$@" {closed}', sys.executable, "-m", "strandline", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
