"""The fields of a JSON object that anybody may have written: each is what it should be, or there is a sentence."""

from __future__ import annotations

from typing import Any

from strandline.model.failures import CorruptData


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON leaves open which of two counts, and Python takes the last, which may not be the one that was meant."""
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise CorruptData(f"it has the field {name[:40]!r} twice: nobody knows which counts")
        names.add(name)
    return dict(pairs)


class Fields:
    """All methods raise `CorruptData`."""

    def __init__(self, value: Any, name: str) -> None:
        if not isinstance(value, dict):
            raise CorruptData(f"{name} is not an object")
        self._values = value
        self._name = name
        self._asked: set[str] = set()

    def number(self, name: str, *, least: int | None = None, most: int | None = None) -> int:
        value = self._take(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise CorruptData(f"{name} is not a whole number")
        if most is not None and least is not None and not least <= value <= most:
            raise CorruptData(f"{name} is {value}, and must be {least} to {most}")
        if least is not None and value < least:
            raise CorruptData(f"{name} is {value}, and must be at least {least}")
        return value

    def number_or_none(self, name: str, *, least: int) -> int | None:
        return None if self._take(name) is None else self.number(name, least=least)

    def text(self, name: str, *, otherwise: str | None = None) -> str:
        value = self._take(name, otherwise)
        if not isinstance(value, str):
            raise CorruptData(f"{name} is not text")
        return value

    def names(self, name: str, known: tuple[str, ...]) -> tuple[str, ...]:
        """Each of them once."""
        values = self._take(name)
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise CorruptData(f"{name} is not a list of names")
        for value in values:
            if value not in known:
                raise CorruptData(f"{name} has {value}, which is not known: there are {', '.join(known)}")
            if values.count(value) > 1:
                raise CorruptData(f"{name} has {value} twice")
        return tuple(values)

    def names_or_none(self, name: str, known: tuple[str, ...]) -> tuple[str, ...] | None:
        return None if self._take(name) is None else self.names(name, known)

    def fields(self, name: str) -> Fields:
        return Fields(self._take(name), name)

    def fields_or_none(self, name: str) -> Fields | None:
        value = self._take(name)
        return None if value is None else Fields(value, name)

    def refuse_others(self) -> None:
        """Nobody should think that they count."""
        unknown = self._values.keys() - self._asked
        if unknown:
            raise CorruptData(f"{self._name} has {', '.join(sorted(unknown))}, which is not known")

    def _take(self, name: str, otherwise: Any = None) -> Any:
        self._asked.add(name)
        if name not in self._values and otherwise is None:
            raise CorruptData(f"{name} is missing")
        return self._values.get(name, otherwise)
