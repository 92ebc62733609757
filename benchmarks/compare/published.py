"""What is published: a row that was not measured here since stays as it is, with its run and its machine.

It is never copied to what was measured here, for then it would count as measured, and nobody would measure it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain

from benchmarks.compare.results import Result, result_from
from benchmarks.machine import git

FIGURES_PATH = "docs/performance/figures.json"


def published(checkout: str) -> list[Result]:
    """As it lies in the checkout, and as it was committed: what a run took out of the file comes back."""
    committed = git("-C", checkout, "show", f"HEAD:./{FIGURES_PATH}")
    try:
        with open(f"{checkout}/{FIGURES_PATH}", encoding="utf-8") as file:
            return newest(_results_in(committed), _results_in(file.read()))
    except FileNotFoundError:
        return _results_in(committed)


def newest(*sources: Iterable[Result]) -> list[Result]:
    """Of each row; of those of one minute the last that is given."""
    found: dict[str, Result] = {}
    for result in chain(*sources):
        if result.name not in found or result.measured_at >= found[result.name].measured_at:
            found[result.name] = result
    return list(found.values())


def _results_in(text: str) -> list[Result]:
    return [result_from(kept) for kept in json.loads(text or "[]")]
