"""What a request does to the settings of one resource: it replaces them all, or changes them one by one (KIP-339)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

from strandline.broker.configs.definitions import ConfigDefinition, ConfigKind
from strandline.model.failures import ErrorCode, Refused
from strandline.model.lazy_dataclass import dataclass
from strandline.model.settings import parse_list


class Change(Protocol):
    @property
    def names(self) -> list[str]:
        """Those that get a value."""
        ...

    def applied_to(self, stored: Mapping[str, str], definitions: Mapping[str, ConfigDefinition]) -> dict[str, str]: ...


class OperationKind(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Operation(NamedTuple):
    kind: int
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Replacement:
    properties: Mapping[str, str]

    @classmethod
    def of(cls, entries: Sequence[tuple[str, str | None]]) -> Replacement:
        _check_names([name for name, _ in entries])
        _check_values(name for name, value in entries if value is None)
        return cls({name: value for name, value in entries if value is not None})

    @property
    def names(self) -> list[str]:
        return list(self.properties)

    def applied_to(self, _: Mapping[str, str], __: Mapping[str, ConfigDefinition]) -> dict[str, str]:
        return dict(self.properties)


@dataclass(frozen=True, slots=True)
class Increments:
    operations: Sequence[Operation]

    @classmethod
    def of(cls, operations: Sequence[Operation]) -> Increments:
        _check_names([operation.name for operation in operations])
        for operation in operations:
            if operation.kind not in set(OperationKind):
                raise Refused(ErrorCode.INVALID_REQUEST, f"There is no operation {operation.kind} on a setting.")
        _check_values(each.name for each in operations if each.value is None and each.kind != OperationKind.DELETE)
        return cls(operations)

    @property
    def names(self) -> list[str]:
        return [operation.name for operation in self.operations if operation.kind != OperationKind.DELETE]

    def applied_to(self, stored: Mapping[str, str], definitions: Mapping[str, ConfigDefinition]) -> dict[str, str]:
        properties = dict(stored)
        for kind, name, value in self.operations:
            if kind == OperationKind.DELETE:
                properties.pop(name, None)
            elif kind == OperationKind.SET:
                properties[name] = value or ""
            else:
                properties[name] = _changed_list(kind, name, value or "", properties.get(name), definitions.get(name))
        return properties


def _changed_list(kind: int, name: str, value: str, stored: str | None, definition: ConfigDefinition | None) -> str:
    """Of a setting that is not stored, the default is what is added to or taken from."""
    if definition is None:
        return value  # its name will be refused
    if definition.kind is not ConfigKind.LIST:
        word = "appended to" if kind == OperationKind.APPEND else "taken from"
        raise Refused(ErrorCode.INVALID_CONFIG, f"{name!r} is not a list: nothing can be {word} it.")
    items = parse_list(stored if stored is not None else definition.default or "")
    given = parse_list(value)
    if kind == OperationKind.APPEND:
        return ",".join((*items, *(item for item in given if item not in items)))
    return ",".join(item for item in items if item not in given)


def _check_names(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise Refused(ErrorCode.INVALID_REQUEST, "A setting is named twice for one resource.")


def _check_values(names: Iterable[str]) -> None:
    without = list(names)
    if without:
        raise Refused(ErrorCode.INVALID_REQUEST, f"There is no value for {', '.join(without)}.")
