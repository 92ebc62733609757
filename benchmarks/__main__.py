"""`python -m benchmarks`: run the guarded rows, all, or some, and print each as it comes."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
from collections.abc import Sequence
from statistics import median
from typing import NoReturn

from benchmarks import guard
from benchmarks.catalogue import BENCHMARKS, GUARDED
from benchmarks.machine import Machine, current_commit, this_machine
from benchmarks.measure import Row
from benchmarks.scratch import Run, file_system_of, scratch_folder
from benchmarks.table import as_json, as_line, heading

NOISY_SPREAD = 0.15
ENDINGS = (signal.SIGINT, signal.SIGTERM)
BROKEN_OFF = 130


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    try:
        return _run(options)
    except KeyboardInterrupt:
        print("Broken off: nothing of this run was judged or written to the history.", file=sys.stderr)
        return BROKEN_OFF


def _run(options: argparse.Namespace) -> int:
    rows: list[Row] = []
    try:
        with scratch_folder() as scratch:
            machine = this_machine(scratch)
            _tell(heading(_title(scratch)), options)
            for name in options.only or (BENCHMARKS if options.all else GUARDED):
                rows += _measure(name, Run(scratch, options.quick), options)
    finally:
        if options.format == "json":
            print(as_json(rows))
    spreads = [row.ours.spread for row in rows if row.ours.spread]
    if spreads and median(spreads) > NOISY_SPREAD:
        _tell("The spread is wide: others were busy on these cores. Run it again when they are quiet.", options)
    return 0 if options.quick or _is_as_usual(guard.ratios_of(rows), machine, options) else 1


def _measure(name: str, run: Run, options: argparse.Namespace) -> list[Row]:
    """Rows are told as they come: whoever ends a run early has those that were measured."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{name} …", end="", file=sys.stderr, flush=True)
    rows = BENCHMARKS[name](run)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    for row in rows:
        _tell(as_line(row, has_colours=sys.stdout.isatty()), options)
    return rows


def _tell(line: str, options: argparse.Namespace) -> None:
    """JSON is one document, at the end."""
    if options.format != "json":
        print(line, flush=True)


def _is_as_usual(found: guard.Ratios, machine: Machine, options: argparse.Namespace) -> bool:
    """A quick run is for a glance: it is not judged, and not remembered."""
    commit = current_commit()
    if options.accept:
        guard.accept(found, machine)
    lines, is_kept = guard.judge(found, guard.usual_of(machine, commit))
    lines += guard.never_accepted(found, machine)
    is_remembered = guard.remember(found, machine, commit)
    if found and not is_remembered:
        lines.append("Not written to the history: the code that was measured is not committed.")
    for line in lines:
        _tell(line, options)
    return is_kept


def _title(scratch: str) -> str:
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f}, "
        f"files on {file_system_of(scratch)} in {os.path.dirname(scratch)}"
    )


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="The broker and the log beside the bare system calls."
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--only", action="append", choices=BENCHMARKS, help="this one; may be given again")
    what.add_argument("--all", action="store_true", help="the rows that are not guarded, too")
    parser.add_argument("--quick", action="store_true", help="less of everything: for a glance, not for a verdict")
    parser.add_argument("--accept", action="store_true", help="what requests cost now is what they may cost")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    return parser.parse_args(arguments)


def _break_off(*_: object) -> NoReturn:
    """Once: a second signal would leave the brokers that the first one ends."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in ENDINGS:
        signal.signal(number, _break_off)
    sys.exit(main())
