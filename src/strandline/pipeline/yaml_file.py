"""A YAML file as a tree that remembers its lines, so that a mistake can be told by its place.

PyYAML is part of the extra `spark`: it is looked for only here, and only when a file is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from strandline.model.extras import how_to_install
from strandline.pipeline.failures import BadPipeline

Scalar = str | int | float | bool | None


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
        return None if root is None else _node(yaml, root, "", problems)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or str(error)
        problems.append(Problem(mark.line + 1 if mark else 1, "", f"this is not YAML: {said}"))
        return None


def _node(yaml: Any, found: Any, path: str, problems: list[Problem]) -> Node:
    line = found.start_mark.line + 1
    if isinstance(found, yaml.SequenceNode):
        return Node(line, [_node(yaml, each, f"{path}[{at}]", problems) for at, each in enumerate(found.value)])
    if not isinstance(found, yaml.MappingNode):
        return Node(line, _scalar(yaml, found))
    fields: dict[str, Node] = {}
    for key, value in found.value:
        name = str(_scalar(yaml, key)) if isinstance(key, yaml.ScalarNode) else "?"
        where = f"{path}.{name}" if path else name
        if name in fields:
            problems.append(Problem(key.start_mark.line + 1, where, "is there twice"))
        fields[name] = _node(yaml, value, where, problems)
    return Node(line, fields)


def _scalar(yaml: Any, node: Any) -> Scalar:
    value = yaml.SafeLoader("").construct_object(node)
    return value if isinstance(value, str | int | float | bool | None) else str(node.value)


def _yaml() -> Any:
    try:
        import yaml
    except ImportError:
        raise BadPipeline(f"PyYAML is not installed: {how_to_install('spark')}") from None
    return yaml
