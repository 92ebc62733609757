"""How a simulation fails: an invariant does not hold, or the code did what nobody foresaw."""

from __future__ import annotations


class OutOfSteps(Exception):
    """A run that was told to end here."""


class Violation(Exception):
    def __init__(self, invariant: str, sentence: str, step: int) -> None:
        super().__init__(f"{invariant}: {sentence}")
        self.invariant = invariant
        self.sentence = sentence
        self.step = step

    def as_fields(self) -> dict[str, str | int]:
        return {"invariant": self.invariant, "sentence": self.sentence, "step": self.step}

    def __reduce__(self) -> tuple[type[Violation], tuple[str, str, int]]:
        """Sent from one process to another with all that it knows."""
        return Violation, (self.invariant, self.sentence, self.step)
