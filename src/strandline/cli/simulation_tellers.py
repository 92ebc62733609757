"""What `strandline simulate` says of its runs: lines while they go, or one document of JSON at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from strandline.cli.output import Output, counted
from strandline.cli.simulation_total import Total
from strandline.simulation.runs import Outcome
from strandline.simulation.scenario import Scenario

TRANSCRIPT_LINES = 150  # clients say much
PLAINEST = "The plainest way there that was found (by kinds of faults, then up to the step that fails)"

PLAINEST_SO_FAR = "Interrupted: this is as plain as it has become"
ABOVE = "What happened before is above."


class Teller(Protocol):
    def tell(self, outcome: Outcome) -> None: ...

    def tell_shortest(self, shown: Outcome, *, is_interrupted: bool) -> None:
        """The plainest way to the failure that was told of last; without transcript where that was all told, too."""

    def tell_scenario(self, path: str, scenario: Scenario, outcome: Outcome, *, is_void: bool) -> None:
        """What has become of it, in the run that was told of last."""

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
            self._output.line(f"{_line(outcome)}\n{outcome.violation}")
        elif self._each:
            self._output.line(_line(outcome))

    def tell_shortest(self, shown: Outcome, *, is_interrupted: bool) -> None:
        heading = PLAINEST_SO_FAR if is_interrupted else PLAINEST
        self._output.line(f"\n{heading}: {shown.command}\n{shown.violation}\n")
        self._lines(shown.transcript[-TRANSCRIPT_LINES:] or (ABOVE,))

    def tell_scenario(self, path: str, scenario: Scenario, outcome: Outcome, *, is_void: bool) -> None:
        if outcome.violation is not None and outcome.transcript and not self._replay:
            self._lines(("", *outcome.transcript[-TRANSCRIPT_LINES:], ""))
        about = f" ({scenario.about})" if scenario.about else ""
        if scenario.violation is not None:
            found = f" ({scenario.found})" if scenario.found else ""
            self._output.line(f"{path} once failed{found} with {scenario.violation}")
        become = _void(scenario) if is_void else _become(scenario, outcome)
        self._output.line(f"{path}{about}: {become}; {_same_or_other(scenario, outcome)}")

    def _lines(self, lines: Iterable[str]) -> None:
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
        self._runs.append(row)

    def tell_shortest(self, shown: Outcome, *, is_interrupted: bool) -> None:  # noqa: ARG002 (the total says it)
        self._runs[-1]["shortest"] = {
            "command": shown.command,
            **_fields(shown),
            "transcript": shown.transcript[-TRANSCRIPT_LINES:],
        }

    def tell_scenario(
        self,
        path: str,
        scenario: Scenario,
        outcome: Outcome,
        *,
        is_void: bool,  # noqa: ARG002 (the total says it)
    ) -> None:
        self._runs[-1]["scenario"] = {
            "file": path,
            "about": scenario.about,
            "found": scenario.found,
            "violation": scenario.violation and scenario.violation.as_fields(),
            "fingerprint": scenario.fingerprint,
            "is_same_run": scenario.is_same_run(outcome),
        }
        if outcome.violation is not None:
            self._runs[-1].setdefault("transcript", outcome.transcript[-TRANSCRIPT_LINES:])

    def end(self, total: Total) -> None:
        self._output.object({"runs": self._runs, "total": total.as_fields()})


def _become(scenario: Scenario, outcome: Outcome) -> str:
    then = scenario.violation and scenario.violation.invariant
    now = outcome.violation and outcome.violation.invariant
    if now is None:
        return "it is sound, as it was" if then is None else f"it is sound now, and failed as {then}"
    if then is None:
        return f"it fails now, as {now}, and was sound"
    return f"it still fails, as {now}" + ("" if now == then else f", and no longer as {then}")


def _void(scenario: Scenario) -> str:
    """Nothing failed, and nobody may call it sound."""
    then = "was sound" if scenario.violation is None else f"failed as {scenario.violation.invariant}"
    return f"it shows nothing (void), and {then}"


def _same_or_other(scenario: Scenario, outcome: Outcome) -> str:
    if scenario.is_same_run(outcome):
        return f"the same run, step for step ({outcome.fingerprint})"
    return f"another run than the saved one ({outcome.fingerprint}, then {scenario.fingerprint})"


def _line(outcome: Outcome) -> str:
    faults = ", ".join(f"{count} {name}" for name, count in sorted(outcome.faults.items()))
    cut = " (cut by --steps)" if outcome.is_cut else ""
    return (
        f"seed {outcome.options.seed}: {','.join(outcome.options.load)}; {counted(outcome.steps, 'step')}{cut},"
        f" {outcome.simulated_ms / 1000:,.0f} s simulated{_work(outcome)}, {counted(outcome.acknowledged, 'write')}"
        f" acknowledged, {counted(outcome.read, 'batch', 'batches')} read; {faults or 'no faults'};"
        f" {outcome.fingerprint}"
    )


def _work(outcome: Outcome) -> str:
    """What of the time is not `--seconds`, and what of `--seconds` is quiet; of a run that came so far."""
    seconds, busy_s = outcome.options.seconds, round(outcome.busy_ms / 1000)
    if outcome.simulated_ms < seconds * 1000 or outcome.is_cut:
        return ""
    busy = f", {busy_s:,} of them busy" if busy_s < seconds else ""
    return f" ({seconds:,} of work and faults{busy}; the rest to start and to heal)"


def _fields(outcome: Outcome) -> dict[str, Any]:
    return {
        "seed": outcome.options.seed,
        "load": outcome.options.load,
        "steps": outcome.steps,
        "is_cut": outcome.is_cut,
        "simulated_seconds": outcome.simulated_ms / 1000,
        "busy_seconds": outcome.busy_ms / 1000,
        "acknowledged": outcome.acknowledged,
        "read": outcome.read,
        "faults": dict(sorted(outcome.faults.items())),
        "fingerprint": outcome.fingerprint,
        "violation": outcome.violation and outcome.violation.as_fields(),
    }
