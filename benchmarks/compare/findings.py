"""What the figures came to, in sentences that follow from them: nobody has to write one, and none outlives its row.

The aims are those the comparison was made for: broker CPU for a gigabyte and for 1,000 requests below Kafka's in every
row, no 99th percentile worse, a fifth of its memory and of its start-up time, a tail that does not notice those who
read far behind (SPEC P5), and a cost per record that is flat whatever a broker holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.compare import growth
from benchmarks.compare.ratios import Line, Verdict, lines_of, number, with_verdict
from benchmarks.compare.results import Result
from benchmarks.compare.side import OURS, THEIRS
from benchmarks.compare.sources import run_numbers

COST = ("cpu_s_per_gb", "cpu_ms_per_1000_requests")
A_FIFTH = 5.0
MOVED = 1.1  # a percentile of a few thousand records wanders by a tenth
PRESET_HEAP = (
    " Kafka's heap is preset by its start script: 1 GB from the beginning (`-Xms`, `-Xmx`), and counts here as "
    "far as it was touched."
)
FAR_BEHIND = "far-behind"
START = "start"


def findings(results: Sequence[Result]) -> list[str]:
    lines, runs = lines_of(results), run_numbers(results)
    failed = sum(result.has_failed(OURS) for result in results)
    return [
        *_failed(results),
        *_compared("Broker CPU for a gigabyte and for 1,000 requests", "below Kafka's", _named(lines, *COST), failed),
        *_compared("99th percentile of latency", "better than Kafka's", _named(lines, "p99_ms"), failed),
        *_a_fifth("Memory (RSS)", _named(lines, "resident_mb"), PRESET_HEAP),
        *_a_fifth("Start-up", [line for line in _named(lines, "seconds") if line.load == START]),
        *_far_behind({line.name: line for line in lines if line.load == FAR_BEHIND}),
        *(sentence for each in growth.GROWTHS.values() for sentence in growth.told(lines, each, runs)),
    ]


def _named(lines: Sequence[Line], *names: str) -> list[Line]:
    return [line for line in lines if line.name in names]


def _failed(results: Sequence[Result]) -> list[str]:
    """A broker that fails under a load is not better than one that is slow."""
    told = []
    for side, whose in ((OURS, "ours"), (THEIRS, "Kafka's")):
        if titles := [result.title for result in results if result.has_failed(side)]:
            told.append(f"{whose} in {len(titles)}: {'; '.join(titles)}")
    return [f"- **Failed**, of {len(results)} loads, and without figures: {'. '.join(told)}."] if told else []


def _compared(what: str, better: str, lines: Sequence[Line], failed: int) -> list[str]:
    """`failed` of our loads have no figures to count."""
    if not lines:
        return []
    won = with_verdict(lines, Verdict.WON)
    if len(won) == len(lines) and not failed:
        return [f"- **{what}**: {better} in every row ({_counted(lines)})."]
    said = f"- **{what}**: {better} in {len(won)} of {_counted(lines)}"
    for verdict in (Verdict.LOST, Verdict.UNDECIDED, Verdict.EVEN):
        if found := with_verdict(lines, verdict):
            said += f"; {verdict.value} in {len(found)}: {_told(found)}"
    if failed:
        said += f"; {failed} of our loads failed and gave none"
    return [f"{said}."]


def _a_fifth(what: str, lines: Sequence[Line], remark: str = "") -> list[str]:
    if not lines:
        return []
    ratios = sorted(min(line.better_by, line.better_by_medians) for line in lines)
    missed = [line for line in lines if min(line.better_by, line.better_by_medians) < A_FIFTH]
    extent = f"1/{number(ratios[-1])} to 1/{number(ratios[0])}" if len(lines) > 1 else f"1/{number(ratios[0])}"
    verdict = "met" if not missed else "missed" if len(lines) == 1 else f"missed in {_told(missed)}"
    figures = f" ({_figures(lines[0])})" if len(lines) == 1 else ""
    return [f"- **{what}**: {extent} of Kafka's{figures}; the aim, at most a fifth, is {verdict}.{remark}"]


def _far_behind(lines: dict[str, Line]) -> list[str]:
    if "p99_moved" not in lines:
        return []
    moved = lines["p99_moved"]
    verdict = "It moved" if moved.ours > MOVED else "It did not move by more than a tenth"
    sentence = (
        "- **Readers far behind** (an aim of ours, P5 in the specification: the tail's 99th percentile must not move "
        f"while others read what is no longer in memory). {verdict}: {_movement(lines, is_ours=True)}; "
        f"Kafka's {_movement(lines, is_ours=False)}. "
        f"{_by_disk(lines)}"
    )
    return [sentence]


def _movement(lines: dict[str, Line], *, is_ours: bool) -> str:
    alone, behind = (_middle(lines[name], is_ours) for name in ("alone_p99_ms", "p99_ms"))
    return f"from {number(alone)} ms without them to {number(behind)} ms, {_rounds(lines['p99_moved'], is_ours)}"


def _by_disk(lines: dict[str, Line]) -> str:
    if "p99_moved_by_disk" not in lines:
        return (
            "How much of that is the disk, and how much that two more clients take their share of the cores, this run "
            "did not measure."
        )
    near, by_disk = lines["near_p99_ms"], lines["p99_moved_by_disk"]
    return (
        f"Beside as many who read what is in memory it is {number(near.ours)} ms (Kafka's {number(near.theirs)}): the "
        f"disk alone moves ours {_rounds(by_disk, is_ours=True)} and Kafka's {_rounds(by_disk, is_ours=False)}."
    )


def _middle(line: Line, is_ours: bool) -> float:
    return line.ours if is_ours else line.theirs


def _rounds(line: Line, is_ours: bool) -> str:
    """The median of the rounds' ratios, and how far they lie apart."""
    rounds = line.our_rounds if is_ours else line.their_rounds
    return f"×{number(_middle(line, is_ours))} (rounds ×{number(min(rounds))} to ×{number(max(rounds))})"


def _told(lines: Sequence[Line]) -> str:
    """Each load once, with its figures."""
    figures: dict[str, list[str]] = {}
    for line in lines:
        figures.setdefault(line.title, []).append(f"{line.metric.title} {_figures(line)}")
    return "; ".join(f"{title} ({', '.join(told)})" for title, told in figures.items())


def _figures(line: Line) -> str:
    return f"{number(line.ours)} to {number(line.theirs)} {line.metric.unit}".rstrip()


def _counted(lines: Sequence[Line]) -> str:
    return f"{len(lines)} {'figure' if len(lines) == 1 else 'figures'}"
