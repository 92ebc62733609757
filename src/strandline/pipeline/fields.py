"""Fields of a section, read one by one: each mistake is noted, and reading goes on, so that all are found at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import TypeVar

from strandline.pipeline.yaml_file import Node, Problem

T = TypeVar("T", bound=str)


class Fields:
    def __init__(self, node: Node, path: str, problems: list[Problem]) -> None:
        self.line = node.line
        self.path = path
        self.problems = problems
        self._nodes: dict[str, Node] = {}
        self._asked: set[str] = set()
        if isinstance(node.value, dict):
            self._nodes = node.value
        elif node.value is not None:
            problems.append(Problem(node.line, path, f"has fields of its own, and {node.kind} is there"))

    def where(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def note(self, name: str, sentence: str) -> None:
        node = self._nodes.get(name)
        self.problems.append(
            Problem(node.line if node else self.line, self.where(name) if name else self.path, sentence)
        )

    def node(self, name: str) -> Node | None:
        self._asked.add(name)
        found = self._nodes.get(name)
        return None if found is None or found.value is None else found

    def has(self, name: str) -> bool:
        return self.node(name) is not None

    def text(self, name: str, default: str = "", *, needs: str = "") -> str:
        """`needs` says what is missing where it is."""
        node = self.node(name)
        if node is None:
            if needs:
                self.note(name, f"is missing: {needs}")
            return default
        if isinstance(node.value, dict | list):
            self.note(name, f"is a text, and {node.kind} is there")
            return default
        if isinstance(node.value, bool):
            return str(node.value).lower()
        text = str(node.value).strip()
        if needs and not text:
            self.note(name, f"is missing: {needs}")
        return text

    def choice(self, name: str, choices: Sequence[T], default: T) -> T:
        text = self.text(name, default)
        for each in choices:
            if text == each:
                return each
        self.note(name, f"{text!r} is none of {', '.join(choices)}{did_you_mean(text, choices)}")
        return default

    def whole(self, name: str, default: int, at_least: int = 1) -> int:
        node = self.node(name)
        if node is None:
            return default
        if isinstance(node.value, bool) or not isinstance(node.value, int) or node.value < at_least:
            self.note(name, f"is a whole number of at least {at_least}, and {node.kind} is there")
            return default
        return node.value

    def boolean(self, name: str, default: bool) -> bool:
        node = self.node(name)
        if node is None:
            return default
        if not isinstance(node.value, bool):
            self.note(name, f"is true or false, and {node.kind} is there")
            return default
        return node.value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list, or one alone."""
        node = self.node(name)
        if node is None:
            return ()
        items = node.value if isinstance(node.value, list) else [node]
        found = []
        for item in items:
            if isinstance(item.value, dict | list) or item.value is None:
                self.note(name, f"is a list of texts, and {item.kind} is in it")
            else:
                found.append(str(item.value).strip())
        return tuple(found)

    def settings(self, name: str) -> dict[str, str]:
        """Names and values that somebody else understands."""
        node = self.node(name)
        if node is None:
            return {}
        if not isinstance(node.value, dict):
            self.note(name, f"is names and values, and {node.kind} is there")
            return {}
        section = Fields(node, self.where(name), self.problems)
        return {each: section.text(each) for each in node.value}

    def section(self, name: str) -> Fields:
        return Fields(self.node(name) or Node(self.line, None), self.where(name), self.problems)

    def sections(self, name: str) -> list[Fields]:
        """A list of them, or one alone."""
        node = self.node(name)
        if node is None:
            return []
        if not isinstance(node.value, list):
            return [Fields(node, self.where(name), self.problems)]
        return [Fields(each, f"{self.where(name)}[{at}]", self.problems) for at, each in enumerate(node.value)]

    def names(self) -> list[str]:
        return list(self._nodes)

    def end(self) -> None:
        """What nobody asked for is a mistake: a field that is not heeded misleads."""
        for name in self._nodes:
            if name not in self._asked:
                self.note(name, f"is not a field{did_you_mean(name, self._asked)}")


def did_you_mean(word: str, known: Collection[str]) -> str:
    close = get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
