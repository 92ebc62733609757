"""`python -m benchmarks`: run them all, or some, and print one table."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
from collections.abc import Callable, Sequence
from statistics import median
from typing import NoReturn

from benchmarks import (
    appending,
    compacting,
    crowd,
    finding,
    guard,
    opening,
    records,
    recovering,
    replicating,
    serving,
    shaping,
    spreading,
    transacting,
)
from benchmarks.machine import Machine, current_commit, this_machine
from benchmarks.measure import Row
from benchmarks.scratch import Run, file_system_of, scratch_folder
from benchmarks.table import as_json, print_table

BENCHMARKS: dict[str, Callable[[Run], list[Row]]] = {
    "produce-16k": serving.produce_16k,
    "produce-1m": serving.produce_1m,
    "produce-tiny": serving.produce_tiny,
    "produce-round": spreading.produce_round,
    "fetch-1m": serving.fetch_1m,
    "fetch-64k": serving.fetch_64k,
    "latency": serving.latency,
    "half-open": crowd.half_open,
    "start": serving.starting,
    "librdkafka": serving.librdkafka,
    "replicate-16k": replicating.replicated_produce,
    "replicate-latency": replicating.replicated_latency,
    "catch-up": replicating.catch_up,
    "idle-partitions": replicating.idle_partitions,
    "transactions-1": transacting.transactions_1,
    "transactions-100": transacting.transactions_100,
    "transactions-10k": transacting.transactions_10k,
    "append-16k": appending.append_16k,
    "append-16k-grouped": appending.append_16k_grouped,
    "append-16k-idempotent": appending.append_16k_idempotent,
    "append-16k-aligned": appending.append_16k_aligned,
    "append-1m": appending.append_1m,
    "find": finding.find,
    "open": opening.opening,
    "recover-16k": recovering.recover_16k,
    "recover-small": recovering.recover_small,
    "compact-100": compacting.compact_100,
    "compact-1k": compacting.compact_1k,
    "offset-map": compacting.offset_map,
    "roll": shaping.roll,
    "flush": shaping.flush,
    "truncate": shaping.truncate,
    "crc": records.crc,
    "walk": records.walk,
    "read": records.read,
    "build": records.build,
}

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
    chosen = options.only or list(BENCHMARKS)
    rows: list[Row] = []
    with scratch_folder() as scratch:
        run = Run(scratch, options.quick)
        for name in chosen:
            if sys.stderr.isatty():
                print(f"\r\x1b[K{name} …", end="", file=sys.stderr, flush=True)
            rows += BENCHMARKS[name](run)
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr)
        title, machine = _title(scratch), this_machine(scratch)
    if options.format == "json":
        print(as_json(rows))
    else:
        print_table(rows, title)
        if median(row.ours.spread for row in rows) > NOISY_SPREAD:
            print("The spread is wide: others were busy on these cores. Run it again when they are quiet.")
    return 0 if options.quick or _is_as_usual(guard.ratios_of(rows), machine, options) else 1


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
    if options.format != "json" and lines:
        print("\n".join(lines))
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
    parser.add_argument("--only", action="append", choices=BENCHMARKS, help="this one; may be given again")
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
