"""Tables on terminals of any width, and in pipes."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest
from click.testing import Result

from strandline.cli.log_clean import COLUMNS as CLEAN_COLUMNS
from strandline.cli.log_epochs import COLUMNS as EPOCHS_COLUMNS
from strandline.cli.log_segments import COLUMNS as SEGMENTS_COLUMNS
from strandline.cli.tables import table_lines

RunTool = Callable[..., Result]
ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"PYTHONPATH": f"{ROOT}/src"}
ACCOUNTS = ROOT / "tests" / "golden" / "kraft-3.9" / "accounts-0"
COMMANDS = {"segments": SEGMENTS_COLUMNS, "clean": CLEAN_COLUMNS, "epochs": EPOCHS_COLUMNS}


def on_terminal(width: int, *arguments: str) -> list[str]:
    terminal, end = pty.openpty()
    try:
        ioctl(end, TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
        command = [sys.executable, "-m", "strandline", "log", *arguments]
        subprocess.run(command, stdin=end, stdout=end, stderr=end, env=ENVIRONMENT, check=True, timeout=60)
        return os.read(terminal, 65536).decode().replace("\r\n", "\n").splitlines()
    finally:
        os.close(end)
        os.close(terminal)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_on_a_terminal_every_column_is_there_in_whole_words(tool: RunTool, command: str, width: int) -> None:
    piped = tool(command, ACCOUNTS).stdout
    _, _, *lines = on_terminal(width, command, str(ACCOUNTS))
    if command == "clean":
        del lines[-3:]  # sentences, which the terminal wraps
    assert max(map(len, lines)) <= width
    shown = {word.strip(":") for line in lines for word in line.split()}
    names = {word for column in COMMANDS[command] for word in column.removeprefix("#").split()}
    assert names <= shown
    assert {word for word in shown if not word.startswith("─")} <= {word.strip(":") for word in piped.split()}


COLUMNS = ["#offset", "last timestamp", "why it stays"]
ROWS = [["7", "2026-11-15T04:12:44.191Z", "its newest record is younger than retention.ms allows"], ["1234567", "", ""]]


def test_where_nothing_limits_it_a_table_is_as_wide_as_its_cells() -> None:
    assert list(table_lines(COLUMNS, ROWS, None)) == [
        " offset  last timestamp            why it stays",
        "─" * 88,
        "      7  2026-11-15T04:12:44.191Z  its newest record is younger than retention.ms allows",
        "1234567",
    ]


def test_with_less_room_long_cells_are_wrapped_between_words() -> None:
    assert list(table_lines(COLUMNS, ROWS, 60)) == [
        " offset  last timestamp            why it stays",
        "─" * 60,
        "      7  2026-11-15T04:12:44.191Z  its newest record is",
        "                                   younger than retention.ms",
        "                                   allows",
        "1234567",
    ]


def test_with_too_little_room_rows_become_blocks() -> None:
    assert list(table_lines(COLUMNS, ROWS, 50)) == [
        "offset:         7",
        "last timestamp: 2026-11-15T04:12:44.191Z",
        "why it stays:   its newest record is younger than",
        "                retention.ms allows",
        "",
        "offset:         1234567",
        "last timestamp:",
        "why it stays:",
    ]


@pytest.mark.parametrize("width", [None, 10, 200])
def test_a_table_without_rows_is_its_head(width: int | None) -> None:
    assert list(table_lines(["#epoch", "remark"], [], width))[:1] == (["epoch  remark"] if width != 10 else [])
