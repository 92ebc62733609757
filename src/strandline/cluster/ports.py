"""Ports of this machine that a server to be started will have.

A socket that is bound and does not listen keeps a port from everybody who asks for any port, and not from a server
that asks for this one with SO_REUSEADDR, as ZooKeeper and we do.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress

HOST = "127.0.0.1"


PORT_MAX = 65_535


class PortInUse(Exception):
    """One sentence that names the port."""


class ReservedPorts:
    def __init__(self, wanted: Sequence[int]) -> None:
        """0 is any port that is free. Raises `PortInUse`."""
        self._sockets: list[socket.socket] = []
        try:
            self.ports = tuple(self._reserve(port) for port in wanted)
        except PortInUse:
            self.release()
            raise

    def _reserve(self, port: int) -> int:
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._sockets.append(held)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind((HOST, port))
        except OSError as error:
            raise PortInUse(f"Port {port} cannot be had: {error.strerror}.") from None
        return int(held.getsockname()[1])

    def release(self) -> None:
        while self._sockets:
            self._sockets.pop().close()


def free_ports_from(first: int, count: int) -> list[int]:
    """The first that nobody listens on. Those given for the asking lie higher, and may be lost between two starts."""
    found: list[int] = []
    for port in range(first, PORT_MAX + 1):
        if len(found) == count:
            break
        with suppress(PortInUse):
            ReservedPorts([port]).release()
            found.append(port)
    return found
