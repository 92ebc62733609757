"""Ports kept for servers that are yet to start."""

from __future__ import annotations

import socket

import pytest

from strandline.cluster.ports import HOST, PortInUse, ReservedPorts


def listener(port: int, *, reuse: bool) -> socket.socket:
    server = socket.socket()
    if reuse:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        server.bind((HOST, port))
        server.listen()
    except OSError:
        server.close()
        raise
    return server


def test_a_reserved_port_is_for_the_server_that_asks_for_it() -> None:
    reserved = ReservedPorts([0, 0])
    first, second = reserved.ports
    assert first != second
    with pytest.raises(OSError, match="in use"):
        listener(first, reuse=False)
    for _ in range(2):  # and for the same server when it is started again
        with listener(first, reuse=True), socket.create_connection((HOST, first)):
            pass
    reserved.release()


def test_a_port_that_somebody_listens_on_cannot_be_had() -> None:
    with listener(0, reuse=True) as server:
        port = server.getsockname()[1]
        with pytest.raises(PortInUse, match=rf"^Port {port} cannot be had: Address already in use\.$"):
            ReservedPorts([0, port])
