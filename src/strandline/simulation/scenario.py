"""A run as a file: all that it was asked for, how it ended, and the fingerprint of all that happened.

Whoever finds a failure saves it, anybody runs it again, and when it is mended the file is kept. What is read here may
have been written by anybody, or cut off: whatever is wrong with it is one plain sentence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Self

from strandline.model.failures import CorruptData
from strandline.simulation.failure import Violation
from strandline.simulation.loads import LOADS
from strandline.simulation.nemesis import FAULTS, FAULTS_BY_NAME
from strandline.simulation.options import BROKERS_MAX, Options
from strandline.simulation.runs import Outcome
from strandline.simulation.scenario_fields import Fields, once_each

VERSION = 1
FILE_BYTES_MAX = 2**20


@dataclass(frozen=True, slots=True)
class Scenario:
    options: Options
    violation: Violation | None  # with which it ended when it was saved
    fingerprint: str  # of that run
    about: str = ""  # what was wrong, from whoever keeps it
    found: str = ""  # when, and with which commit, which shows it still

    @classmethod
    def of(cls, outcome: Outcome) -> Self:
        return cls(outcome.options, outcome.violation, outcome.fingerprint)

    def is_same_run(self, outcome: Outcome) -> bool:
        return self.fingerprint == outcome.fingerprint

    def as_json(self) -> str:
        options = self.options
        fields = {
            "version": VERSION,
            **({"about": self.about} if self.about else {}),
            **({"found": self.found} if self.found else {}),
            "options": {
                "seed": options.seed,
                "brokers": options.brokers,
                "seconds": options.seconds,
                "faults": options.faults,
                "load": options.load,
                "steps": options.steps_max,
            },
            "violation": None if self.violation is None else self.violation.as_fields(),
            "fingerprint": self.fingerprint,
        }
        return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Raises `CorruptData`."""
        fields = Fields(_parsed(data), "it")
        version = fields.number("version", least=0)
        if version != VERSION:
            raise CorruptData(f"version is {version}, and this Strandline knows version {VERSION}")
        options, violation = fields.fields("options"), fields.fields_or_none("violation")
        read = cls(
            _options(options),
            None if violation is None else _violation(violation),
            fields.text("fingerprint"),
            fields.text("about", otherwise=""),
            fields.text("found", otherwise=""),
        )
        fields.refuse_others()
        return read


def load_scenario(path: str) -> Scenario:
    """Raises `CorruptData`, whatever is the matter."""
    try:
        with open(path, "rb") as file:
            data = file.read(FILE_BYTES_MAX)
    except FileNotFoundError:
        raise CorruptData(f"{path} is not a scenario: there is no such file") from None
    except OSError as error:
        raise CorruptData(f"{path} is not a scenario: {error.strerror or error}") from None
    try:
        return Scenario.from_json(data)
    except CorruptData as refused:
        sentence = f"{path} is not a scenario: {refused}; strandline simulate --save FILE writes one"
        raise CorruptData(sentence) from None


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data, object_pairs_hook=once_each)
    except (ValueError, RecursionError):
        raise CorruptData("it is not JSON") from None


def _options(fields: Fields) -> Options:
    read = Options(
        seed=fields.number("seed"),
        brokers=fields.number("brokers", least=1, most=BROKERS_MAX),
        seconds=fields.number("seconds", least=1),
        faults=fields.names_or_none("faults", (*FAULTS, *FAULTS_BY_NAME)),
        load=fields.names("load", LOADS),
        steps_max=fields.number_or_none("steps", least=1),
    )
    if not read.load:
        raise CorruptData("load is empty")
    fields.refuse_others()
    return read


def _violation(fields: Fields) -> Violation:
    read = Violation(fields.text("invariant"), fields.text("sentence"), fields.number("step", least=0))
    fields.refuse_others()
    return read
