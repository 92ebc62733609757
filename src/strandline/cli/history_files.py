"""The files that `check-history` is given: several as one history, lines found again by their number."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from strandline.cli.output import CannotRead
from strandline.history.json_object import NotJson
from strandline.history.lines import LineParser
from strandline.history.operations import Operation
from strandline.history.verdict import printable
from strandline.model.failures import CorruptData

LINE_BYTES_MAX = 64 * 2**20


class HistoryFiles:
    """Lines are numbered over all of them."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths
        self.size_bytes = 0
        self.torn: list[str] = []  # whose last line is not whole
        self._ends: list[int] = []  # number of the last line of each file
        self._look_at_all()

    def __str__(self) -> str:
        return printable(self.paths[0]) if len(self.paths) == 1 else f"any of the {len(self.paths)} files"

    def _look_at_all(self) -> None:
        """A file that is given twice is refused, or every operation would have happened twice."""
        known: dict[tuple[int, int], str] = {}
        for path in self.paths:
            with _reading(path):
                status = os.stat(path)
            other = known.get((status.st_dev, status.st_ino))
            if other is not None:
                raise CannotRead(_same_file(other, path))
            known[status.st_dev, status.st_ino] = path
            self.size_bytes += status.st_size

    def operations(self, advance: Callable[[int], None]) -> Iterator[Operation]:
        parser, number = LineParser(), 0
        for path in self.paths:
            with _reading(path), open(path, "rb") as file:
                while line := file.readline(LINE_BYTES_MAX):
                    number += 1
                    advance(len(line))
                    if line.isspace():
                        continue
                    try:
                        yield parser.operation(line, number)
                    except CorruptData as error:
                        is_cut_off = not line.endswith(b"\n") and len(line) < LINE_BYTES_MAX
                        if not (is_cut_off and isinstance(error, NotJson)):
                            raise CorruptData(f"{self.place(path, number)} {error}") from None
                        self.torn.append(path)  # its writer was killed
            self._ends.append(number)

    def place(self, path: str, number: int) -> str:
        return f"{printable(path)}:{number - (self._ends[-1] if self._ends else 0)}"

    def places_of(self, numbers: Iterable[int]) -> str:
        return printable(", ".join(self.place_of(number) for number in numbers))

    def place_of(self, number: int) -> str:
        first = 0
        for path, last in zip(self.paths, self._ends, strict=True):
            if number <= last:
                return f"{path}:{number - first}"
            first = last
        raise IndexError(number)


def _same_file(one: str, other: str) -> str:
    if one == other:
        return f"{printable(one)} is given twice"
    return f"{printable(one)} and {printable(other)} are the same file"


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Own sentences: what the log tool says of a file that is gone or forbidden is about a broker's."""
    name = printable(path)
    try:
        yield
    except FileNotFoundError:
        hint = ": standard input is /dev/stdin" if path == "-" else ""
        raise CannotRead(f"there is no history {name}{hint}") from None
    except IsADirectoryError:
        raise CannotRead(f"{name} is a folder: give the files in it, such as {name.rstrip('/')}/*.jsonl") from None
    except OSError as error:
        raise CannotRead(f"{name} cannot be read: {error.strerror or error}") from None
