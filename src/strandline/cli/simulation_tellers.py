"""What `strandline simulate` says of its runs: lines while they go, or one document of JSON at the end."""

from __future__ import annotations

from typing import Any, Protocol

from strandline.cli.output import Output, counted
from strandline.cli.simulation_total import Total
from strandline.simulation.plainest import plainest
from strandline.simulation.runs import Outcome

TRANSCRIPT_LINES = 150  # clients say much


class Teller(Protocol):
    def tell(self, outcome: Outcome) -> None: ...

    def end(self, total: Total) -> None: ...


class TextTeller:
    def __init__(self, output: Output, *, replay: bool, each: bool) -> None:
        self._output = output
        self._replay = replay
        self._each = each

    def tell(self, outcome: Outcome) -> None:
        if self._replay:
            self._lines(outcome.transcript)
        if outcome.violation is not None:
            self._tell_failure(outcome)
        elif self._each:
            self._output.line(_line(outcome))

    def _tell_failure(self, outcome: Outcome) -> None:
        self._output.line(f"{_line(outcome)}\n{outcome.violation}")
        shown = _plainest(outcome, self._output)
        self._output.line(f"\nThe shortest way there: {shown.command}\n{shown.violation}\n")
        self._lines(shown.transcript[-TRANSCRIPT_LINES:])

    def _lines(self, lines: tuple[str, ...]) -> None:
        for line in lines:
            self._output.line(line)

    def end(self, total: Total) -> None:
        self._output.line(str(total))


class JsonTeller:
    """One document, at the end."""

    def __init__(self, output: Output, *, replay: bool) -> None:
        self._output = output
        self._replay = replay
        self._runs: list[dict[str, Any]] = []

    def tell(self, outcome: Outcome) -> None:
        row = _fields(outcome)
        if self._replay:
            row["transcript"] = outcome.transcript
        if outcome.violation is not None:
            shown = _plainest(outcome, self._output)
            row["shortest"] = {
                "command": shown.command,
                **_fields(shown),
                "transcript": shown.transcript[-TRANSCRIPT_LINES:],
            }
        self._runs.append(row)

    def end(self, total: Total) -> None:
        self._output.object({"runs": self._runs, "total": total.as_fields()})


def _plainest(outcome: Outcome, output: Output) -> Outcome:
    return plainest(outcome, lambda line: output.note(f"  {line}"))


def _line(outcome: Outcome) -> str:
    faults = ", ".join(f"{count} {name}" for name, count in sorted(outcome.faults.items()))
    cut = " (cut by --steps)" if outcome.is_cut else ""
    return (
        f"seed {outcome.options.seed}: {counted(outcome.steps, 'step')}{cut}, {outcome.simulated_ms / 1000:,.0f} s"
        f" simulated, {outcome.acknowledged:,} acknowledged, {outcome.read:,} read; {faults or 'no faults'};"
        f" {outcome.fingerprint}"
    )


def _fields(outcome: Outcome) -> dict[str, Any]:
    violation = outcome.violation
    return {
        "seed": outcome.options.seed,
        "load": outcome.options.load,
        "steps": outcome.steps,
        "is_cut": outcome.is_cut,
        "simulated_seconds": outcome.simulated_ms / 1000,
        "acknowledged": outcome.acknowledged,
        "read": outcome.read,
        "faults": dict(sorted(outcome.faults.items())),
        "fingerprint": outcome.fingerprint,
        "violation": violation
        and {"invariant": violation.invariant, "sentence": violation.sentence, "step": violation.step},
    }
