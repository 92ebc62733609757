"""The table at the terminal: every metric of every load, those marked that we lose or that are undecided."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchmarks.compare.ratios import Line, Verdict, lines_of, number, verdict_told, with_verdict
from benchmarks.compare.results import Result
from benchmarks.compare.side import OURS, THEIRS

HEAD = ("", "Strandline", "Kafka", "", "better by", "half of the rounds", "")
LEFT_ALIGNED = {0, 3, 6}


def print_summary(results: Sequence[Result]) -> None:
    rows: list[tuple[str, ...]] = [HEAD]
    lines = lines_of(results)
    for title, group in groupby(lines, lambda line: line.title):
        rows.append((title, *[""] * (len(HEAD) - 1)))
        rows += map(_cells, group)
    widths = [max(len(row[at]) for row in rows if at or row[1]) for at in range(len(HEAD))]
    for row in rows:
        print("  ".join(map(_aligned, row, widths, range(len(HEAD)))).rstrip())
    for result in results:
        if result.failure:
            print(f"{result.title}: not measured. {result.failure}")
    lost, undecided, limited = (
        len(with_verdict(lines, verdict)) for verdict in (Verdict.LOST, Verdict.UNDECIDED, Verdict.CLIENTS_LIMIT)
    )
    at_limit = f" Neither lost nor won, for they are the client's limit: {limited}." if limited else ""
    print(f"{len(lines)} figures, {lost} of them lost and {undecided} undecided.{at_limit}{_failed(results)}")


def _failed(results: Sequence[Result]) -> str:
    ours, theirs = (sum(result.has_failed(side) for result in results) for side in (OURS, THEIRS))
    return f" Without figures, for they failed: {ours} of our loads and {theirs} of Kafka's." if ours + theirs else ""


def _cells(line: Line) -> tuple[str, ...]:
    lower, upper = map(number, line.quartiles)
    return (
        f"  {line.metric.title}",
        number(line.ours),
        number(line.theirs),
        line.metric.unit,
        f"×{number(line.better_by)}",
        f"×{lower} to ×{upper}",
        verdict_told(line, "LOST"),
    )


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column in LEFT_ALIGNED else cell.rjust(width)
