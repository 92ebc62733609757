"""House style as a test: what a reviewer should not have to say twice (after TigerBeetle's tidy).

Each test gives every violation it finds, as `file:line what`. The lists of exceptions may only get shorter.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "strandline"

MODULE_LINES_MAX = 400
MODULE_LINES_NEVER = 600
FUNCTION_LINES_MAX = 70
FILE_BYTES_MAX = 300 * 1024

# Modules above the limit, and what they may have at most until they are split by noun. Lower a number when you can.
LONG_MODULES: dict[str, int] = {}

VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "misc"}
LEFTOVERS = re.compile(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError|breakpoint)\b")
PURE_OF_CLOCK = ("model", "records", "wire", "metadata", "log", "groups", "replication", "controller", "transactions")
CLOCK_AND_CHANCE = {"time", "random", "secrets"}
CLOCK_CALLS = {("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today")}
MACHINE_PATHS = re.compile(
    r"(?<![\w.])/(work|root|home/\w+)/|--?(extra-)?index-url|\bPIP_INDEX_URL\b|artifactory|/simple/?\b"
)


@cache
def project_files() -> list[Path]:
    """What is in git, or would be after `git add`."""
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


@cache
def lines_of(path: Path) -> list[str]:
    """None of a file that is not text."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def modules(*folders: str) -> Iterator[Path]:
    for path in project_files():
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in folders:
            yield path


def source_modules(*packages: str) -> Iterator[Path]:
    for path in modules("src"):
        if path.is_relative_to(SOURCE) and (not packages or path.relative_to(SOURCE).parts[0] in packages):
            yield path


def place(path: Path, line: int = 1) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def report(violations: list[str]) -> None:
    assert not violations, "\n".join(["", *violations])


def test_there_is_something_to_tidy() -> None:
    assert len(list(source_modules("log"))) > 20
    assert len(list(modules("tests"))) > 20


def test_modules_are_short() -> None:
    violations = []
    for path in source_modules():
        name, count = str(path.relative_to(SOURCE)), len(lines_of(path))
        if count > min(LONG_MODULES.get(name, MODULE_LINES_MAX), MODULE_LINES_NEVER):
            violations.append(f"{place(path)} has {count} lines: split it by noun")
        if name in LONG_MODULES and count <= MODULE_LINES_MAX:
            violations.append(f"{place(path)} is short now: take it off LONG_MODULES")
    violations += [f"{name} is gone: take it off LONG_MODULES" for name in LONG_MODULES if not (SOURCE / name).exists()]
    report(violations)


def test_functions_are_short() -> None:
    violations = []
    for path in modules("src", "tests", "benchmarks"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = (node.end_lineno or node.lineno) - node.lineno + 1
                if count > FUNCTION_LINES_MAX:
                    violations.append(f"{place(path, node.lineno)} {node.name} has {count} lines")
    report(violations)


def test_modules_are_named_for_what_they_hold() -> None:
    report([place(path) for path in modules("src", "tests") if VAGUE_NAMES & {path.stem, *path.parent.parts[-1:]}])


def test_modules_say_what_they_are() -> None:
    report([f"{place(path)} has no docstring" for path in source_modules() if not ast.get_docstring(tree_of(path))])


def test_annotations_are_never_evaluated() -> None:
    violations = []
    for path in modules("src", "tests", "benchmarks"):
        statements = tree_of(path).body
        has_code = any(isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef) for node in statements)
        if has_code and not any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in statements
        ):
            violations.append(f"{place(path)} lacks `from __future__ import annotations`")
    report(violations)


def test_nothing_is_left_over() -> None:
    report(
        [
            f"{place(path, number)} {line.strip()}"
            for path in source_modules()
            for number, line in enumerate(lines_of(path), 1)
            if LEFTOVERS.search(line)
        ]
    )


def test_only_commands_print() -> None:
    report(
        [
            f"{place(path, node.lineno)} prints"
            for path in source_modules()
            if path.relative_to(SOURCE).parts[0] != "cli"
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
        ]
    )


def test_time_and_chance_come_as_arguments() -> None:
    report(
        [
            f"{place(path, node.lineno)} {ast.unparse(node)}"
            for path in source_modules(*PURE_OF_CLOCK)
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.stmt | ast.expr) and reads_clock(node)
        ]
    )


def reads_clock(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(name.name in CLOCK_AND_CHANCE for name in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and node.module in CLOCK_AND_CHANCE
    if isinstance(node, ast.Attribute):
        owner = node.value
        name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        return (name, node.attr) in CLOCK_CALLS
    return False


def test_no_line_ends_in_space() -> None:
    report(
        [
            place(path, number)
            for path in project_files()
            if path.suffix in {".py", ".md", ".toml", ".c", ".java", ".xml", ".yml", ""} and "golden" not in path.parts
            for number, line in enumerate(lines_of(path), 1)
            if line != line.rstrip()
        ]
    )


def test_the_changelog_has_an_entry() -> None:
    headings = [line for line in lines_of(ROOT / "CHANGELOG.md") if line.startswith("## ")]
    assert headings, "CHANGELOG.md has no section"
    assert any(line.startswith("- ") for line in lines_of(ROOT / "CHANGELOG.md")), "CHANGELOG.md has no entry"


def test_decisions_are_numbered_without_a_gap() -> None:
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert [name for name in names if not re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name)] == []
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


def test_files_are_small() -> None:
    violations = []
    for path in project_files():
        size = path.stat().st_size
        if size > FILE_BYTES_MAX:
            violations.append(f"{place(path)} has {size} bytes, of {FILE_BYTES_MAX}")
    report(violations)


def test_no_file_knows_the_machine_it_was_written_on() -> None:
    report(
        [
            f"{place(path, number)} {line.strip()[:120]}"
            for path in project_files()
            if path != Path(__file__).resolve()
            for number, line in enumerate(lines_of(path), 1)
            if MACHINE_PATHS.search(line)
        ]
    )


def test_an_install_does_not_ask_for_the_next(tmp_path: Path) -> None:
    """Each builds the compiled module, which is younger than the stamp then: `make` is quick the second time."""
    records = tmp_path / "src" / "strandline" / "records"
    records.mkdir(parents=True)
    (tmp_path / ".venv").mkdir()
    sources = [records / "_native.c", records / "_native.h", tmp_path / "pyproject.toml", tmp_path / "setup.py"]
    stamps = [tmp_path / ".venv" / ".ready", tmp_path / ".venv" / ".cluster-ready"]
    for age, path in enumerate([*sources, *stamps, records / "_native.so"], 1_700_000_000):
        path.touch()
        os.utime(path, (age, age))

    def installs(target: str) -> bool:
        command = ["make", "-n", "-f", str(ROOT / "Makefile"), target]
        return "pip install" in subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    assert [installs("run"), installs("cluster")] == [False, False]
    os.utime(sources[0])
    assert [installs("run"), installs("cluster")] == [True, True]
