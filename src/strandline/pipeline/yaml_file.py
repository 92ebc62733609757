"""A YAML file as a tree that remembers its lines, so that a mistake can be told by its place.

PyYAML is part of the extra `spark`: it is looked for only here, and only when a file is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from strandline.model.extras import how_to_install
from strandline.pipeline.failures import BadPipeline

Scalar = str | int | float | bool | None

DEPTH_MAX = 50
VALUES_MAX = 10_000  # with what anchors repeat: a few lines can stand for billions
MERGE_TAG = "tag:yaml.org,2002:merge"


class Problem(NamedTuple):
    line: int
    field: str  # as in sink.delta.path; empty for the file as a whole
    sentence: str

    def __str__(self) -> str:
        return (
            f"line {self.line}: {self.field}: {self.sentence}" if self.field else f"line {self.line}: {self.sentence}"
        )


@dataclass(frozen=True, slots=True)
class Node:
    line: int
    value: dict[str, Node] | list[Node] | Scalar

    @property
    def kind(self) -> str:
        if isinstance(self.value, dict):
            return "a section"
        return "a list" if isinstance(self.value, list) else "nothing" if self.value is None else repr(self.value)


def read_yaml(text: str, problems: list[Problem]) -> Node | None:
    """None if it is no YAML at all; that is a problem, too."""
    yaml = _yaml()
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if root is None else _Tree(yaml, problems).node(root, "")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error).partition("\n")[0]
        problems.append(Problem(mark.line + 1 if mark else 1, "", f"this is not YAML: {said}"))
    except RecursionError:
        problems.append(_too_deep(1))
    except _TooMuch as error:
        problems[:] = [error.problem]
    return None


class _TooMuch(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def _too_deep(line: int) -> Problem:
    return Problem(line, "", f"a value lies too deep: at most {DEPTH_MAX} lists and sections may lie in each other")


class _Tree:
    def __init__(self, yaml: Any, problems: list[Problem]) -> None:
        self._yaml = yaml
        self._problems = problems
        self._count = 0

    def node(self, found: Any, path: str, depth: int = 0) -> Node:
        line = found.start_mark.line + 1
        self._count += 1
        if self._count > VALUES_MAX:
            raise _TooMuch(Problem(line, "", f"the file has more than {VALUES_MAX} values, with those of its anchors"))
        if depth > DEPTH_MAX:
            raise _TooMuch(_too_deep(line))
        if isinstance(found, self._yaml.SequenceNode):
            return Node(line, [self.node(each, f"{path}[{at}]", depth + 1) for at, each in enumerate(found.value)])
        if not isinstance(found, self._yaml.MappingNode):
            return Node(line, self._scalar(found))
        return Node(line, self._fields(found, path, depth))

    def _fields(self, found: Any, path: str, depth: int) -> dict[str, Node]:
        fields: dict[str, Node] = {}
        for key, value in found.value:
            name = str(self._scalar(key)) if isinstance(key, self._yaml.ScalarNode) else "?"
            where = f"{path}.{name}" if path else name
            if key.tag == MERGE_TAG:
                self._problems.append(
                    Problem(key.start_mark.line + 1, where, "is not understood here: write the fields out")
                )
                continue
            if name in fields:
                self._problems.append(Problem(key.start_mark.line + 1, where, "is there twice"))
            fields[name] = self.node(value, where, depth + 1)
        return fields

    def _scalar(self, node: Any) -> Scalar:
        """What is no number or date, though it looks like one or is called one, is a text."""
        try:
            value = self._yaml.SafeLoader("").construct_object(node)
        except (ValueError, LookupError, AttributeError, self._yaml.constructor.ConstructorError):
            return str(node.value)
        return value if isinstance(value, str | int | float | bool | None) else str(node.value)


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise BadPipeline(f"PyYAML is not installed: {how_to_install('spark')}") from None
    return yaml
