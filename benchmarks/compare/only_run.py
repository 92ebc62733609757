"""One run at a time: two beside each other measure each other, and write the same files."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


class AlreadyRunning(Exception):
    """One sentence: who runs, and what can be done."""


@contextmanager
def only_run(folder: str) -> Iterator[None]:
    """The kernel takes the lock from a process that has ended, however it did."""
    os.makedirs(folder, exist_ok=True)
    path = f"{folder}/compare.lock"
    with open(path, "a+", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise AlreadyRunning(
                f"Another comparison runs in this checkout, as process {file.read().strip()}, and two would measure "
                f"each other. Wait for it, or end it."
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield
