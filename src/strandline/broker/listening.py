"""Sockets that listen, on IPv4 and IPv6, and addresses as people write them."""

from __future__ import annotations

import errno
import socket
from typing import Any

from strandline.broker.network_settings import NetworkSettings
from strandline.broker.pacing import begin_without_pace

IPV4_IN_IPV6 = "::ffff:"


def listening_sockets(host: str, port: int, settings: NetworkSettings) -> list[socket.socket]:
    """One for each address of the host, all with the same port. What this machine does not have is left out."""
    opened: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, address in _addresses(host):
            try:
                opened.append(_listen(family, (address, port), settings))
            except OSError as failure:
                if failure.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
                missing = failure
            else:
                port = port or local_address_of(opened[0])[1]
    except OSError:
        for listener in opened:
            listener.close()
        raise
    if not opened and missing is not None:
        raise missing
    return opened


def host_of(address: tuple[Any, ...]) -> str:
    """An IPv4 peer of a socket for both looks like ::ffff:10.0.0.1."""
    return str(address[0]).removeprefix(IPV4_IN_IPV6)


def local_address_of(connected: socket.socket) -> tuple[str, int]:
    address = connected.getsockname()
    return host_of(address), address[1]


def _addresses(host: str) -> list[tuple[int, str]]:
    if not host:
        return [(socket.AF_INET6, "::") if socket.has_dualstack_ipv6() else (socket.AF_INET, "0.0.0.0")]
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found))


def _listen(family: int, address: tuple[str, int], settings: NetworkSettings) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, address[0] != "::")
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # for peers whose machine has gone
        # Sockets that are accepted inherit this and the sizes; TCP agrees on its window while it connects.
        for option, size in (
            (socket.SO_SNDBUF, settings.socket_send_buffer_bytes),
            (socket.SO_RCVBUF, settings.socket_receive_buffer_bytes),
        ):
            if size > 0:
                listener.setsockopt(socket.SOL_SOCKET, option, size)
        begin_without_pace(listener)
        listener.bind(address)
        listener.listen(settings.socket_listen_backlog_size)
    except OSError:
        listener.close()
        raise
    return listener
