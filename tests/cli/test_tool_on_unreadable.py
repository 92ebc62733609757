"""A file that cannot be opened is told once and hides nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from strandline.log.filesystem import RealFile, RealFileSystem

RunTool = Callable[..., Result]
Forbid = Callable[[Path], None]


@pytest.fixture
def forbid(monkeypatch: pytest.MonkeyPatch) -> Forbid:
    """As chmod does, which does not stop the user that tests may run as."""
    forbidden: set[str] = set()
    really_open, really_list, really_size = RealFileSystem.open, RealFileSystem.names, RealFileSystem.sizes

    def stop_at(path: str) -> None:
        if path in forbidden:
            raise PermissionError(13, "Permission denied", path)

    def open_file(self: RealFileSystem, path: str, **options: Any) -> RealFile:
        stop_at(path)
        return really_open(self, path, **options)

    def names(self: RealFileSystem, directory: str) -> list[str]:
        stop_at(directory)
        return really_list(self, directory)

    def sizes(self: RealFileSystem, directory: str) -> dict[str, int]:
        stop_at(directory)
        return really_size(self, directory)

    monkeypatch.setattr(RealFileSystem, "open", open_file)
    monkeypatch.setattr(RealFileSystem, "names", names)
    monkeypatch.setattr(RealFileSystem, "sizes", sizes)
    return lambda path: forbidden.add(str(path))


SENTENCE = "cannot be read: permission denied; run this as the user the broker runs as"


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".txnindex", ".snapshot"])
def test_check_goes_on(tool: RunTool, forbid: Forbid, data: Path, folder: Path, suffix: str) -> None:
    path = max(folder.glob(f"*{suffix}"))
    forbid(path)
    first = min(folder.glob("*.log"))
    first.write_bytes(b"\1" + first.read_bytes()[1:])
    for arguments in ((data,), (folder,)):
        result = tool("check", *arguments)
        assert result.exit_code == 2
        assert [line for line in result.stdout.splitlines() if SENTENCE in line] == [f"{path}: {SENTENCE}"]
        assert f"{first}: position 0: " in result.stdout
        assert "beyond its log" not in result.stdout
        assert result.stderr.endswith("; 1 file could not be read\n")
    rows = [json.loads(line) for line in tool("check", "--format", "json", data).stdout.splitlines()]
    assert [row["path"] for row in rows if row["type"] == "unreadable"] == [str(path)]
    assert rows[-1]["unreadable"] == 1


def test_what_is_sound_beside_an_unreadable_file_is_no_fault(tool: RunTool, forbid: Forbid, data: Path) -> None:
    forbid(data / "recovery-point-offset-checkpoint")
    result = tool("check", data)
    assert result.exit_code == 2
    assert result.stderr.startswith("strandline: 0 faults in 1 partition, 3 segments, ")


def test_a_partition_that_cannot_be_listed_hides_no_other(
    tool: RunTool, forbid: Forbid, data: Path, folder: Path
) -> None:
    (data / "another-0").mkdir()
    forbid(data / "another-0")
    checked = tool("check", data)
    assert checked.exit_code == 2
    assert checked.stdout == f"{data}/another-0: {SENTENCE}\n"
    dumped = tool("dump", data)
    assert dumped.exit_code == 2
    assert f"Dumping {min(folder.glob('*.log'))}" in dumped.stdout
    assert dumped.stderr == f"strandline: {data}/another-0 {SENTENCE}\n"


@pytest.mark.parametrize("suffix", [".log", ".index"])
def test_dump_goes_on(tool: RunTool, forbid: Forbid, folder: Path, suffix: str) -> None:
    everything = tool("dump", folder).stdout.splitlines()
    path = min(folder.glob(f"*{suffix}"))
    own = tool("dump", path).stdout.splitlines()[1:]
    forbid(path)
    result = tool("dump", folder)
    assert result.exit_code == 2
    assert result.stderr == f"strandline: {path} {SENTENCE}\n"
    title = own[:1] if suffix == ".log" else []
    at = everything.index(f"Dumping {path}") + 1
    assert result.stdout.splitlines() == everything[:at] + title + everything[at + len(own) :]


def test_a_lock_that_cannot_be_made_is_told_as_such(tool: RunTool, forbid: Forbid, data: Path, folder: Path) -> None:
    forbid(data / ".lock")
    result = tool("clean", "--execute", "--policy", "delete", folder)
    assert result.exit_code == 2
    assert result.stderr == (
        f"strandline: {data}/.lock cannot be created or locked: permission denied; nothing was changed;"
        " run this as the user the broker runs as\n"
    )
