"""`python -m benchmarks.compare`: run the loads, or some; print the table, write docs/performance.md."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
from collections.abc import Sequence
from typing import TypeVar

from tests.interop.kafka import Kafka, RefereeMissing, fetch

from benchmarks.compare.bench import Scale
from benchmarks.compare.catalogue import all_loads, chosen
from benchmarks.compare.load_kind import Stage
from benchmarks.compare.only_run import AlreadyRunning, only_run
from benchmarks.compare.page import write_page
from benchmarks.compare.provenance import of_this_run
from benchmarks.compare.published import newest, published
from benchmarks.compare.results import Result, Store
from benchmarks.compare.runner import Runner
from benchmarks.compare.side import CompareFailed
from benchmarks.compare.summary import print_summary
from benchmarks.scratch import CHECKOUT, scratch_folder

SERIES = {Stage.UNSTARTED: "4.3", Stage.ALONE: "4.3", Stage.IN_THREES: "3.9"}
FULL_ROUNDS, QUICK_ROUNDS = 7, 3
FULL_WARM_S, QUICK_WARM_S = 60.0, 5.0
Number = TypeVar("Number", int, float)


def main(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # brokers and files go, however this ends
    options = _parse(arguments)
    store = Store(f"{CHECKOUT}/data/compare-{'quick' if options.quick else 'full'}")
    names = options.only or chosen(is_quick=options.quick, has_whole_grid=options.whole_grid)
    is_whole = True
    try:
        if not options.report:
            _measure(options, store, [name for name in names if not (options.resume and _is_measured(store, name))])
    except (RefereeMissing, AlreadyRunning) as problem:
        print(f"Nothing can be compared. {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"Broken off. Go on with: {_resumed(arguments, options.quick)}", file=sys.stderr)
        return 130
    except CompareFailed as problem:  # of all that was to come; what was measured is told
        print(f"The run ended early. {problem}", file=sys.stderr)
        is_whole = False
    told = _report(options, store)
    if not told:
        return 2
    if options.report:
        return 1 if any(result.failure for result in told) else 0
    return 0 if is_whole and all(_is_measured(store, name) for name in names) else 1


def _measure(options: argparse.Namespace, store: Store, names: Sequence[str]) -> None:
    known = all_loads()
    scale = Scale(options.quick, options.rounds or (QUICK_ROUNDS if options.quick else FULL_ROUNDS))
    with only_run(f"{CHECKOUT}/data"), scratch_folder() as scratch:
        provenance = of_this_run(scratch, _warm_s(options))
        Runner(_fetch_kafkas(), scratch, scale, store, provenance).run([known[name] for name in names])


def _report(options: argparse.Namespace, store: Store) -> list[Result]:
    """The table at the terminal, and the page: what was measured here, and beside it what is published."""
    measured, together = store.all(all_loads()), _beside_published(store)
    told = together if options.published else measured
    if not told:  # and what is published stays
        print("Nothing has been measured here yet. Add --published to report what was elsewhere.", file=sys.stderr)
        return []
    print_summary(told)
    if options.quick and not options.page:
        write_page(told, store.folder)
    else:
        write_page(together, f"{CHECKOUT}/docs")
    return told


def _beside_published(store: Store) -> list[Result]:
    known, rows = all_loads(), {result.name: result for result in published(CHECKOUT)}
    if gone := sorted(rows.keys() - known.keys()):
        print(f"Left out, for there are no such loads any more: {', '.join(gone)}.", file=sys.stderr)
    found = {result.name: result for result in newest(rows.values(), store.all(known))}
    return [found[name] for name in known if name in found]


def _resumed(arguments: Sequence[str], is_quick: bool) -> str:
    """The same command, but for what is measured."""
    kept = shlex.join([*(word for word in arguments if word not in ("--quick", "--resume")), "--resume"])
    return f"make compare {'QUICK=1 ' if is_quick else ''}COMPARE={shlex.quote(kept)}"


def _warm_s(options: argparse.Namespace) -> float:
    given: float | None = options.warm_s
    return given if given is not None else QUICK_WARM_S if options.quick else FULL_WARM_S


def _is_measured(store: Store, name: str) -> bool:
    found = store.find(name)
    return found is not None and not found.failure


def _fetch_kafkas() -> dict[Stage, Kafka]:
    fetched = {series: fetch(series) for series in sorted(set(SERIES.values()))}
    return {stage: fetched[series] for stage, series in SERIES.items()}


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description="Strandline beside Apache Kafka on this machine."
    )
    parser.add_argument(
        "--only", action="append", choices=all_loads(), metavar="ROW", help="this load; may be given again"
    )
    parser.add_argument("--quick", action="store_true", help="fewer loads and less of each: ten minutes")
    parser.add_argument(
        "--rounds", type=_rounds, help=f"turns of each side ({FULL_ROUNDS}, or {QUICK_ROUNDS} when quick)"
    )
    parser.add_argument(
        "--warm-s",
        type=_seconds,
        metavar="SECONDS",
        help=f"how long each side works before its first row ({FULL_WARM_S:g}, or {QUICK_WARM_S:g} when quick)",
    )
    parser.add_argument("--whole-grid", action="store_true", help="all 72 kinds of producing, not 28 of them")
    parser.add_argument("--resume", action="store_true", help="leave out what has been measured already")
    parser.add_argument("--published", action="store_true", help="the table has published rows too, as the page has")
    parser.add_argument("--page", action="store_true", help="a quick run writes docs/performance.md too")
    parser.add_argument("--report", action="store_true", help="measure nothing; table and page from what is there")
    return parser.parse_args(arguments)


def _seconds(text: str) -> float:
    return _within(float, text, 0, 3600)


def _rounds(text: str) -> int:
    return _within(int, text, 1, 100)


def _within(kind: type[Number], text: str, least: Number, most: Number) -> Number:
    try:
        value = kind(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"give a number from {least} to {most}, not {text!r}")
    return value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
