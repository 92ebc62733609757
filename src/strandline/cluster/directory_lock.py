"""One command at a time changes a cluster: two that start the same broker would each lose sight of the other's."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager

from strandline.cluster.cluster_plan import ClusterRefused

FILE_NAME = ".lock"
POLL_S = 0.02
WAIT_S = 60.0


@contextmanager
def locked(directory: str, timeout_s: float = WAIT_S) -> Iterator[None]:
    """The operating system lets go of it with the process."""
    with open(f"{directory}/{FILE_NAME}", "w", encoding="ascii") as file:
        deadline = time.monotonic() + timeout_s
        while not _is_locked(file.fileno()):
            if time.monotonic() > deadline:
                raise ClusterRefused(f"Another command is at work on the cluster in {directory}: try again after it.")
            time.sleep(POLL_S)
        yield


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
