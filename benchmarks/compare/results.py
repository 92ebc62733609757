"""What turns have measured, kept in one file for each load, so that a run can be gone on with and a row done again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.compare.load_kind import Measured
from benchmarks.compare.provenance import Provenance, from_json


@dataclass(slots=True)
class Result:
    name: str
    title: str
    stage: str
    versions: dict[str, str]  # by side
    turns: dict[str, list[Measured]]  # by side, round by round
    load_average: float = 0.0
    is_quick: bool = False
    measured_at: str = field(default_factory=lambda: time.strftime("%Y-%m-%d %H:%M"))
    failure: str = ""  # whose turn it was, a colon, and a sentence, where there are no figures
    provenance: Provenance | None = None  # of the first results it was not kept

    def has_failed(self, side: str) -> bool:
        """Who comes next has no figure to be compared with, and has not failed."""
        return self.failure.startswith(f"{side}: ")


def result_from(kept: dict[str, Any]) -> Result:
    """Whoever tells figures, and whoever tells them again from what is published, tells the same."""
    known, turns = kept.get("provenance"), {side: list(map(rounded, turns)) for side, turns in kept["turns"].items()}
    return Result(**kept | {"turns": turns, "provenance": from_json(known) if known else None})


def rounded(turn: Measured) -> Measured:
    """Four digits are more than any of it is worth."""
    return {name: float(f"{value:.4g}") for name, value in turn.items()}


class Store:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def save(self, result: Result) -> None:
        path = self._path(result.name)
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(asdict(result), file, indent=1)
        os.replace(f"{path}.new", path)

    def find(self, name: str) -> Result | None:
        """None where it was never measured, or only in vain."""
        try:
            with open(self._path(name), encoding="utf-8") as file:
                return result_from(json.load(file))
        except FileNotFoundError:
            return None

    def all(self, names: Iterable[str]) -> list[Result]:
        return [found for name in names if (found := self.find(name)) is not None]

    def _path(self, name: str) -> str:
        return f"{self.folder}/{name}.json"
