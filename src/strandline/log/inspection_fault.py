"""What an inspection has to tell: its faults, and how much it looked at.

A file that cannot be opened is a fault of its own kind and hides nothing else. One that has vanished since it was
listed is none: a running broker removes old files all the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from strandline.model.lazy_dataclass import dataclass


class Fault(NamedTuple):
    path: str
    position: int | None
    sentence: str
    is_unreadable: bool = False  # it could not be read, so nothing is known of it

    def __str__(self) -> str:
        where = "" if self.position is None else f" position {self.position}:"
        return f"{self.path}:{where} {self.sentence}"


@dataclass(slots=True)
class Tally:
    """How much was looked at."""

    partitions: int = 0
    segments: int = 0
    batches: int = 0
    records: int = 0
    files: int = 0
    bytes: int = 0


def readable(path: str, faults: Iterator[Fault]) -> Iterator[Fault]:
    """The same faults, and one more in place of the exception if `path` or a file it stands for cannot be read."""
    try:
        yield from faults
    except FileNotFoundError:
        return
    except OSError as error:
        yield Fault(str(error.filename or path), None, why_unreadable(error), is_unreadable=True)


def why_unreadable(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "cannot be read: permission denied; run this as the user the broker runs as"
    return f"cannot be read: {error.strerror or error}"
