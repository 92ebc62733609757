"""The scoreboard: put together from what the parts came to, and written into docs/proof.md between two marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.proof.results import Result, current_commit, load, measured
from tests.simulation.load_mutations import ALL_MUTATIONS

from strandline.cli.output import counted

DOCUMENT = "docs/proof.md"
BEGIN, END = "<!-- scoreboard: make proof writes what follows -->\n", "<!-- end of the scoreboard -->\n"
PARTS = ("seeds", "mutations", "crashes", "frames", "kills", "chaos")
SEEDED = ("crashes", "frames", "kills", "chaos")  # with one seed; those of the simulator have theirs in their rows
Row = tuple[str, str]


def rows() -> list[Row]:
    """Of each part when it was measured, and with which code; of one that was not run, that it was not."""
    found: list[Row] = [("put together at", current_commit())]
    for part in PARTS:
        result = load(part)
        if result is None:
            found.append((part, "not run"))
            continue
        found += _rows_of(result)
        found += [("!", sentence) for sentence in _problems_of(result)]
        found += _how_to_repeat(result)
        found.append((f"{part}: measured", measured(result)))
    return found


def _problems_of(result: Result) -> list[str]:
    """One at least of a part that was not sound, the first line of each."""
    if not (result.sound or result.problems):
        return [f"{result.part}: it was not sound, and nobody has written down why"]
    return [f"{result.part}: {problem.splitlines()[0]}" for problem in result.problems]


def _how_to_repeat(result: Result) -> Iterator[Row]:
    if result.part in SEEDED and "seed" in result.figures:
        yield f"{result.part}: seed", str(result.figures["seed"])
    elif result.part in SEEDED:
        yield f"{result.part}: seed", "not kept by this run"
    if result.command:
        yield f"{result.part}: to repeat", result.command


def _rows_of(result: Result) -> Iterator[Row]:
    figures = result.figures
    if result.part == "seeds":
        yield "seeds", f"{figures['seeds']:,}, from {figures['first_seed']} on"
        yield "simulated hours", _hours(figures)
        if figures.get("busy_hours"):
            yield "busy hours", f"{figures['busy_hours']:,} of these; in the others little is sent and no fault strikes"
        yield (
            "operations",
            f"{figures['acknowledged']:,} acknowledged, {figures['read']:,} read, {figures['steps']:,} steps",
        )
        yield "faults injected", _by_name(figures["faults"])
        yield "violations", str(figures["violations"])
    elif result.part == "mutations":
        yield from _mutation_rows(figures)
    elif result.part == "crashes":
        steps, runs = counted(figures["steps"], "step"), counted(figures["runs"], "run")
        yield "power cuts", f"{figures['crashes']:,}, after each of {steps} of {runs}"
        yield "recovered byte positions", f"{figures['byte_positions']:,}"
    elif result.part == "frames":
        yield "frames fuzzed", f"{figures['frames']:,}, of {figures['kinds']} APIs and versions"
    elif "acknowledged" in figures:
        yield from _chaos_rows(result.part, figures)
    else:
        yield result.part, "no account"


def _mutation_rows(figures: dict[str, Any]) -> Iterator[Row]:
    """With those that have come and gone since they were measured: none is left out without a word."""
    within = f"within {counted(figures['seeds_max'], 'seed')} each"
    yield "mutations caught", f"{figures['caught']} of {figures['mutations']} that were tried, {within}"
    known = {mutation.name for mutation in ALL_MUTATIONS}
    gone = [name for name, *_ in figures["table"] if name not in known]
    not_measured = _not_measured(figures["table"])
    for title, names in (("not measured", not_measured), ("measured, and gone since", gone)):
        if names:
            yield f"mutations: {title}", f"{len(names)}: {'; '.join(names)}"


def _not_measured(table: list[list[Any]]) -> list[str]:
    measured_names = {name for name, *_ in table}
    return [mutation.name for mutation in ALL_MUTATIONS if mutation.name not in measured_names]


def _hours(figures: dict[str, Any]) -> str:
    return (
        f"{figures['simulated_hours']:,} ({figures['hours_per_minute']} in a minute of the clock,"
        f" {figures['hours_per_core_minute']} of a core)"
    )


def _chaos_rows(part: str, figures: dict[str, Any]) -> Iterator[Row]:
    silences = figures["unavailable_s_all"]
    yield f"{part}: minutes", f"{figures['seconds'] / 60:.1f}"
    yield f"{part}: faults", _by_name(figures["faults"])
    yield (
        f"{part}: acknowledged",
        f"{figures['acknowledged']:,}, of {figures['checked_operations']:,} operations checked",
    )
    transactions = f"{figures['transactions_committed']:,} committed, {figures['transactions_aborted']:,} aborted"
    yield f"{part}: transactions", transactions
    yield (
        f"{part}: lost, duplicated, out of order",
        f"{figures['lost']}, {figures['doubled']}, {figures['out_of_order']}",
    )
    yield f"{part}: bad anomalies", str(sum(figures["bad_anomalies"].values()))
    yield f"{part}: unavailable p50, p99", f"{silences['p50']:.1f} s, {silences['p99']:.1f} s"
    compared, differing = figures["replica_bytes_compared"], len(figures["replica_differences"])
    yield f"{part}: replicas compared", f"{counted(compared, 'byte')}, {_differ(differing)}"
    spark = figures.get("spark")
    if spark is not None:
        through = (
            f"{counted(spark['records'], 'record')} in {counted(spark['batches'], 'batch', 'batches')},"
            f" {counted(spark['restarts'], 'restart')}"
        )
        yield f"{part}: through Spark", f"{through}, lost {spark['lost']}, doubled {spark['doubled']}"


def _differ(partitions: int) -> str:
    return f"{counted(partitions, 'partition')} {'differs' if partitions == 1 else 'differ'}"


def _by_name(counts: dict[str, int]) -> str:
    return f"{sum(counts.values()):,}: " + ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))


def as_text(found: list[Row]) -> str:
    width = max(len(name) for name, _ in found)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in found)


def as_markdown(found: list[Row]) -> str:
    lines = ["| | |", "|---|---|", *(f"| {name} | {_in_a_cell(value)} |" for name, value in found)]
    mutations = load("mutations")
    if mutations is not None:
        lines += ["", "| safeguard that was switched off | noticed by | seeds |", "|---|---|---|"]
        table = mutations.figures["table"]
        lines += [f"| {name} | {invariant} | {seeds} |" for name, invariant, seeds in table]
        lines += [f"| {name} | not measured | |" for name in _not_measured(table)]
    return "\n".join(lines) + "\n"


def _in_a_cell(value: str) -> str:
    return value.replace("|", "\\|")


def write_document(found: list[Row]) -> None:
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise SystemExit(f"proof: {DOCUMENT} has no place for the scoreboard any more: {BEGIN.strip()}")
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + as_markdown(found) + END + after)
