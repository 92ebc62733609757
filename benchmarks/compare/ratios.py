"""From turns to lines of the table: medians, by how much we are better, and whether that is decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median, quantiles

from benchmarks.compare.load_kind import Measured
from benchmarks.compare.metrics import COSTS_OF_RATES, METRICS, Metric
from benchmarks.compare.results import Result
from benchmarks.compare.side import OURS, THEIRS

LEAST = 1e-9
EVEN = 0.03  # nearer to each other than this is neither won nor lost
BUSY = 0.5  # of a core: where both brokers are less, it is not they who decide how much is done in a second


class Verdict(Enum):
    WON = "won"
    EVEN = "even"
    UNDECIDED = "undecided"
    LOST = "lost"
    CLIENTS_LIMIT = "the client's limit"


@dataclass(frozen=True, slots=True)
class Line:
    """One metric of one load. Ratios are 2 for half the cost or twice the rate; below 1 we lose."""

    load: str
    title: str
    name: str  # of the metric
    our_rounds: tuple[float, ...]
    their_rounds: tuple[float, ...]
    our_busy_shares: tuple[float, ...] = ()  # of a core, round by round, where this is a rate
    their_busy_shares: tuple[float, ...] = ()

    @property
    def metric(self) -> Metric:
        return METRICS[self.name]

    @property
    def ours(self) -> float:
        return median(self.our_rounds)

    @property
    def theirs(self) -> float:
        return median(self.their_rounds)

    @property
    def better_by(self) -> float:
        """The median of what each round came to."""
        return median(self._ratios())

    @property
    def better_by_medians(self) -> float:
        """Where rounds disagree it may be on the other side of 1 than the median of their ratios."""
        return self._ratio(self.ours, self.theirs)

    @property
    def busy_shares(self) -> tuple[float, ...]:
        """Ours and Kafka's, all brokers of a side together; nothing where this is no rate."""
        return tuple(median(shares) for shares in (self.our_busy_shares, self.their_busy_shares) if shares)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Half of the rounds lie between them."""
        ratios = self._ratios()
        if len(ratios) < 2:
            return ratios[0], ratios[0]
        lower, _, upper = quantiles(ratios, n=4, method="inclusive")
        return lower, upper

    @property
    def verdict(self) -> Verdict:
        """Lost by either way of counting is lost; what is not, and has quartiles on both sides of 1, is undecided."""
        if self.busy_shares and max(self.busy_shares) < BUSY:
            return Verdict.CLIENTS_LIMIT
        lower, upper = self.quartiles
        if min(self.better_by, self.better_by_medians) < 1 - EVEN:
            return Verdict.LOST
        if lower < 1 < upper and not (_is_even(lower) and _is_even(upper)):
            return Verdict.UNDECIDED
        return Verdict.EVEN if _is_even(self.better_by) else Verdict.WON

    def _ratios(self) -> list[float]:
        return [self._ratio(our, their) for our, their in zip(self.our_rounds, self.their_rounds, strict=True)]

    def _ratio(self, our: float, their: float) -> float:
        return our / max(their, LEAST) if self.metric.is_better_larger else their / max(our, LEAST)


def lines_of(results: Iterable[Result]) -> list[Line]:
    return [
        Line(
            result.name,
            result.title,
            name,
            tuple(turn[name] for turn in result.turns[OURS]),
            tuple(turn[name] for turn in result.turns[THEIRS]),
            _busy_shares(result.turns[OURS], name),
            _busy_shares(result.turns[THEIRS], name),
        )
        for result in results
        if not result.failure
        for name in METRICS
        if name in result.turns[OURS][0]
    ]


def _busy_shares(turns: Sequence[Measured], name: str) -> tuple[float, ...]:
    cost, cpu_s = COSTS_OF_RATES.get(name, ("", 0.0))
    return tuple(turn[name] * turn[cost] * cpu_s for turn in turns if cost in turn)


def verdict_told(line: Line, lost: str = Verdict.LOST.value) -> str:
    """The last cell of a row: nothing where it is won; and how busy the brokers were, where it is a rate."""
    if line.better_by >= 1 - EVEN:  # which is what stands beside it
        lost = f"{lost} by medians (×{number(line.better_by_medians)})"
    words = {Verdict.LOST: lost, Verdict.UNDECIDED: "undecided", Verdict.CLIENTS_LIMIT: Verdict.CLIENTS_LIMIT.value}
    return "; ".join(filter(None, [words.get(line.verdict, ""), busy_told(line)]))


def busy_told(line: Line) -> str:
    shares = " and ".join(f"{share:.2f}" for share in line.busy_shares)
    return f"brokers busy {shares} of a core" if shares else ""


def with_verdict(lines: Sequence[Line], verdict: Verdict) -> list[Line]:
    """The worst first; those that are alike by name, so that a page that is written again is the same."""
    chosen = (line for line in lines if line.verdict is verdict)
    return sorted(chosen, key=lambda line: (min(line.better_by, line.better_by_medians), line.load, line.name))


def _is_even(ratio: float) -> bool:
    return abs(ratio - 1) <= EVEN


def number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
