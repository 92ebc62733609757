"""What brokers say in their logs that is not as it should be: warnings count, tracebacks are bugs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

COMPLAINT = re.compile(rb"\b(WARNING|ERROR|CRITICAL)\b")
CRASH = re.compile(rb"^Traceback \(most recent call last\)|never retrieved|never awaited", re.MULTILINE)
CONTEXT_LINES = 40


class Complaints:
    def __init__(self, log_paths: Iterable[str]) -> None:
        self._log_paths = list(log_paths)

    def count(self) -> int:
        return sum(len(COMPLAINT.findall(log)) for _, log in self._logs())

    def crashes(self) -> list[str]:
        """Each with the lines that follow it."""
        return [
            f"{path}: {_lines_from(log, found.start())}" for path, log in self._logs() for found in CRASH.finditer(log)
        ]

    def _logs(self) -> Iterator[tuple[str, bytes]]:
        for path in self._log_paths:
            with open(path, "rb") as file:
                yield path, file.read()


def _lines_from(log: bytes, position: int) -> str:
    return "\n".join(log[position:].decode("utf-8", "replace").splitlines()[:CONTEXT_LINES])
