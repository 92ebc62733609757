"""docs/performance.md: what a person wrote of it stays, what lies between the two marks is written by each full run."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from benchmarks.compare.charts import draw_charts
from benchmarks.compare.ratios import Line, lines_of, number
from benchmarks.compare.results import Result
from benchmarks.scratch import CHECKOUT, file_system_of

BEGIN = "<!-- begin: written by make compare -->"
END = "<!-- end: written by make compare -->"
PAGE = "performance.md"
FIGURES = "performance"  # the folder with charts and raw figures


def write_page(results: Sequence[Result], folder: str) -> None:
    os.makedirs(f"{folder}/{FIGURES}", exist_ok=True)
    with open(f"{folder}/{FIGURES}/figures.json", "w", encoding="utf-8") as file:
        json.dump([_compact(result) for result in results], file)
        file.write("\n")
    charts = draw_charts(results, f"{folder}/{FIGURES}")
    path = f"{folder}/{PAGE}"
    head, tail = _around(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([head + BEGIN, *_written(results, charts), END + tail]))
    print(f"written: {os.path.relpath(path)}")


def _compact(result: Result) -> dict[str, object]:
    """Four digits are more than any of it is worth."""
    turns = {
        side: [{name: float(f"{value:.4g}") for name, value in turn.items()} for turn in measured]
        for side, measured in result.turns.items()
    }
    return asdict(result) | {"turns": turns}


def _around(path: str) -> tuple[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            head, _, rest = file.read().partition(BEGIN)
    except FileNotFoundError:
        return "# Strandline beside Apache Kafka\n\n", "\n"
    return head, rest.partition(END)[2]


def _written(results: Sequence[Result], charts: Sequence[tuple[str, str]]) -> list[str]:
    lines = lines_of(results)
    written = ["", _circumstances(results), ""]
    written += [f"![{title}]({FIGURES}/{name})" for name, title in charts]
    written += ["", "### Where we lose", "", *_losses(lines), "", "### Every figure", ""]
    written += ["| load | | Strandline | Kafka | better by | spread |", "|---|---|---:|---:|---:|---:|"]
    for title, group in groupby(lines, lambda line: line.title):
        for at, line in enumerate(group):
            written.append(_row("" if at else title, line))
    failures = [f"- {result.title}: {result.failure}" for result in results if result.failure]
    return [*written, *(["", "Not measured:", "", *failures] if failures else []), ""]


def _row(title: str, line: Line) -> str:
    better = f"**×{number(line.better_by)}**" if line.is_lost else f"×{number(line.better_by)}"
    unit = f" {line.metric.unit}" if line.metric.unit else ""
    return (
        f"| {title} | {line.metric.title} | {number(line.ours)}{unit} | {number(line.theirs)}{unit} | {better} "
        f"| ±{line.spread:.0%} |"
    )


def _losses(lines: Sequence[Line]) -> list[str]:
    lost = sorted((line for line in lines if line.is_lost), key=lambda line: line.better_by)
    if not lost:
        return ["In no row of this run."]
    return [
        f"- {line.title}: {line.metric.title}, {number(line.ours)} to {number(line.theirs)} {line.metric.unit}".rstrip()
        + f" (×{number(line.better_by)} ±{line.spread:.0%})"
        for line in lost
    ]


def _circumstances(results: Sequence[Result]) -> str:
    if not results:
        return "Nothing has been measured yet."
    versions = sorted({version for result in results for version in [result.versions["kafka"]]})
    dates = sorted(result.measured_at for result in results)
    busy = max(result.load_average for result in results)
    rounds = max(len(turns) for result in results for turns in result.turns.values())
    size = " This was a quick run, with small loads." if any(result.is_quick for result in results) else ""
    return (
        f"Measured from {dates[0]} to {dates[-1]} on {os.cpu_count()} cores of {_processor()}, "
        f"Linux {platform.release()}, {file_system_of(CHECKOUT)}, Python {platform.python_version()}; "
        f"Apache Kafka {' and '.join(versions)}. "
        f"Up to {rounds} rounds each, at a load average of up to {busy:.1f}.{size} Raw figures: "
        f"[figures.json]({FIGURES}/figures.json)."
    )


def _processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()
