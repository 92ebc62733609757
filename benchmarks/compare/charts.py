"""The charts of the page: cost, throughput, latency, and how cost grows. Without matplotlib the page has none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.compare.growth import GROWTHS, Point, points_of
from benchmarks.compare.ratios import Line, Verdict, lines_of
from benchmarks.compare.results import Result

OURS_COLOUR, THEIRS_COLOUR = "#1f6f8b", "#c9a227"
BARS = {
    "cost.png": ("Broker CPU for a gigabyte (s; shorter is better)", "cpu_s_per_gb"),
    "requests.png": ("Broker CPU for 1,000 requests (ms; shorter is better)", "cpu_ms_per_1000_requests"),
    "throughput.png": ("Throughput (MB/s; longer is better)", "mb_per_s"),
    "latency.png": ("Latency, 99th percentile (ms; shorter is better)", "p99_ms"),
}


def draw_charts(results: Sequence[Result], folder: str) -> list[tuple[str, str]]:
    """File names and titles of those that were drawn."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("matplotlib is not installed, so no chart is drawn: pip install -e '.[compare]'", file=sys.stderr)
        return []
    lines = lines_of(results)
    drawn = []
    for name, (title, metric) in BARS.items():
        if chosen := [line for line in lines if line.name == metric]:
            _draw_bars(pyplot, chosen, title, f"{folder}/{name}")
            drawn.append((name, title))
    for name, growth in GROWTHS.items():
        ours, theirs = points_of(lines, growth)
        if len(ours) > 1:
            title = f"Broker CPU for {growth.does} a record, by {growth.what} (µs)"
            _draw_growth(pyplot, ours, theirs, title, growth.what, f"{folder}/{name}")
            drawn.append((name, title))
    return drawn


def _draw_bars(pyplot: Any, lines: Sequence[Line], title: str, path: str) -> None:
    figure, axes = pyplot.subplots(figsize=(10, 1.2 + 0.34 * len(lines)))
    places = range(len(lines))
    axes.barh([at - 0.2 for at in places], [line.ours for line in lines], 0.38, color=OURS_COLOUR, label="Strandline")
    axes.barh([at + 0.2 for at in places], [line.theirs for line in lines], 0.38, color=THEIRS_COLOUR, label="Kafka")
    axes.margins(y=0.01)
    axes.set_yticks(list(places), [_label(line) for line in lines], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(f"{lines[0].metric.unit}, on a logarithmic axis: lengths are not in proportion", fontsize=8)
    _finish(pyplot, figure, axes, title, path)


def _label(line: Line) -> str:
    return f"{line.title} (the client's limit)" if line.verdict is Verdict.CLIENTS_LIMIT else line.title


def _draw_growth(pyplot: Any, ours: Sequence[Point], theirs: Sequence[Point], title: str, what: str, path: str) -> None:
    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    for points, colour, label in ((ours, OURS_COLOUR, "Strandline"), (theirs, THEIRS_COLOUR, "Kafka")):
        counts = [point.count for point in points]
        axes.plot(counts, [point.middle for point in points], "o-", color=colour, label=f"{label}, median")
        least, most = ([edge(point.rounds) for point in points] for edge in (min, max))
        axes.fill_between(counts, least, most, color=colour, alpha=0.2, label="all rounds")
    axes.set_xscale("log")
    axes.set_xticks([point.count for point in ours], [f"{point.count:,}" for point in ours])
    axes.set_xlabel(f"{what}, on a logarithmic axis", fontsize=8)
    axes.set_ylabel("µs of broker CPU", fontsize=8)
    axes.set_ylim(bottom=0)
    _finish(pyplot, figure, axes, title, path)


def _finish(pyplot: Any, figure: Any, axes: Any, title: str, path: str) -> None:
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(axis="both", alpha=0.25)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=80, bbox_inches="tight")  # as wide as the longest label wants
    pyplot.close(figure)
