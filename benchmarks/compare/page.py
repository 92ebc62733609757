"""docs/performance.md: what a person wrote of it stays; what lies between marks is written by each full run.

There are two such parts: a summary at the top, with everything that matters, and every figure at the end.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby

from benchmarks.compare import sources
from benchmarks.compare.catalogue import all_loads
from benchmarks.compare.charts import draw_charts
from benchmarks.compare.findings import findings
from benchmarks.compare.ratios import Line, Verdict, busy_told, lines_of, number, verdict_told, with_verdict
from benchmarks.compare.results import Result
from benchmarks.compare.side import OURS, THEIRS
from benchmarks.compare.sources import Notes

PAGE = "performance.md"
FIGURES = "performance"  # the folder with charts, raw figures and notes
SUMMARY, TABLE = "summary", "every figure"
BEGIN = "<!-- begin: {}, written by make compare -->"
END = "<!-- end: {} -->"
TITLE = "# Strandline beside Apache Kafka\n"


def write_page(results: Sequence[Result], folder: str) -> None:
    os.makedirs(f"{folder}/{FIGURES}", exist_ok=True)
    _write_figures(results, f"{folder}/{FIGURES}/figures.json")
    charts = draw_charts(results, f"{folder}/{FIGURES}")
    notes = sources.read_notes(f"{folder}/{FIGURES}/notes.json")
    path = f"{folder}/{PAGE}"
    text = _replaced(_read(path), SUMMARY, _summary(results, charts, notes))
    text = _replaced(text, TABLE, _table(results, notes))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"written: {os.path.relpath(path)}")


def _write_figures(results: Sequence[Result], path: str) -> None:
    """All or none: rows that are not measured again are read from here."""
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        json.dump([asdict(result) for result in results], file)
        file.write("\n")
    os.replace(f"{path}.new", path)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return TITLE


def _replaced(text: str, part: str, lines: Iterable[str]) -> str:
    """A page that has no marks for it gets them at its end."""
    begin, end = BEGIN.format(part), END.format(part)
    if begin not in text or end not in text:
        text = f"{text}\n{begin}\n{end}\n"
    head, _, rest = text.partition(begin)
    return "\n".join([head + begin, "", *lines, "", end + rest.partition(end)[2]])


def _summary(results: Sequence[Result], charts: Sequence[tuple[str, str]], notes: Notes) -> list[str]:
    if not results:
        return ["Nothing has been measured yet."]
    lines = lines_of(results)
    lost, undecided = with_verdict(lines, Verdict.LOST), with_verdict(lines, Verdict.UNDECIDED)
    written = ["## What it came to", "", *findings(results), ""]
    losses = [*_failures(results), *map(_told, lost)]
    written += ["### Where we lose", "", *(losses or ["In no row of this run."]), ""]
    written += ["### Undecided", "", *(map(_told, undecided) if undecided else ["Nothing."]), ""]
    written += _clients_limit(with_verdict(lines, Verdict.CLIENTS_LIMIT))
    written += [f"![{title}]({FIGURES}/{name})" for name, title in charts]
    written += ["", "### Which rows come from where", "", *sources.told(results, notes)]
    return [*written, "", f"Raw figures, round by round: [figures.json]({FIGURES}/figures.json)."]


def _clients_limit(lines: Sequence[Line]) -> list[str]:
    if not lines:
        return []
    why = (
        "Neither side's brokers were busy for half a core: how fast the clients make and take records decides these, "
        "or what both sides wait for. They are neither lost nor won."
    )
    return ["### The client's limit", "", why, "", *(f"{_told(line)}; {busy_told(line)}" for line in lines), ""]


def _failures(results: Sequence[Result]) -> list[str]:
    """Ours are lost; Kafka's stand beside them, and say that nothing was compared."""
    sides = ((OURS, "**failed** on our side"), (THEIRS, "failed on Kafka's side, and is neither lost nor won"))
    return [
        f"- {result.title}: {said}: {result.failure.removeprefix(f'{side}: ')}"
        for side, said in sides
        for result in results
        if result.has_failed(side)
    ]


def _told(line: Line) -> str:
    lower, upper = map(number, line.quartiles)
    unit = f" {line.metric.unit}" if line.metric.unit else ""
    return (
        f"- {line.title}: {line.metric.title}, {number(line.ours)} to {number(line.theirs)}{unit}, "
        f"×{number(line.better_by_medians)} by medians; by rounds ×{number(line.better_by)}, half of them ×{lower} to "
        f"×{upper} ({len(line.our_rounds)} rounds)"
    )


def _table(results: Sequence[Result], notes: Notes) -> list[str]:
    remarks, runs = _remarks(results, notes), sources.run_numbers(results)
    written = [
        "| run | load | | Strandline | Kafka | better by | half of the rounds | |",
        "|---:|---|---|---:|---:|---:|---:|---|",
    ]
    for (load, title), group in groupby(lines_of(results), lambda line: (line.load, line.title)):
        for at, line in enumerate(group):
            written.append(_row("|" if at else f"{runs[load]} | {title}{remarks.get(load, '')}", line))
    failures = [f"- {result.title}: {result.failure}" for result in results if result.failure]
    return [*written, *(["", "Not measured:", "", *failures] if failures else [])]


def _remarks(results: Sequence[Result], notes: Notes) -> dict[str, str]:
    """What must be said at the row itself."""
    known = {load.name: [load.note] for load in all_loads().values() if load.note}
    for change in notes.changes:
        for result in sources.older(results, change):
            known.setdefault(result.name, []).append(f"older than `{change.commit}`")
    return {name: f" *({'; '.join(remarks)})*" for name, remarks in known.items()}


def _row(load: str, line: Line) -> str:
    unit = f" {line.metric.unit}" if line.metric.unit else ""
    lower, upper = map(number, line.quartiles)
    return (
        f"| {load} | {line.metric.title} | {number(line.ours)}{unit} | {number(line.theirs)}{unit} "
        f"| ×{number(line.better_by)} | ×{lower} to ×{upper} | {verdict_told(line, '**lost**')} |"
    )
