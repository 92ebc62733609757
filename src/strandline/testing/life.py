"""One life of a broker, in a thread or in a process of its own: from its start to its stop."""

from __future__ import annotations

from typing import Protocol

START_TIMEOUT_S = 60.0  # a start takes a tenth of a second; a recovery of much data, or a busy machine, takes longer
STOP_TIMEOUT_S = 60.0
HOST = "127.0.0.1"  # not localhost, for which clients try IPv6 first


class Life(Protocol):
    port: int

    def is_alive(self) -> bool:
        """It may have ended by itself."""
        ...

    def stop(self) -> None:
        """A clean stop."""
        ...

    def kill(self) -> None:
        """An end without a stop, as by SIGKILL."""
        ...
