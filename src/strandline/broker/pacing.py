"""Nobody on this machine is sent to at a pace.

A congestion control that paces (BBR, the default of many servers) measures a path's rate and lets a timer send at that
rate. The loopback has none, so it costs timers and small packets and brings nothing (docs/decisions/0012 has what it
took). The kernel does not take the pace off a connection that has begun with it, so it is the listener that begins
without, and who comes from elsewhere gets the machine's choice when it is accepted, before anything is sent.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from functools import cache
from ipaddress import ip_address

PACING = b"bbr"  # as the names of all of its versions begin; no other control needs the pace
UNPACED = b"reno"  # is in every kernel, and everybody may choose it


@cache
def control_of_this_machine() -> bytes:
    """The one that a new socket has; nothing where the kernel does not tell."""
    with suppress(OSError), socket.socket() as fresh:
        return control_of(fresh)
    return b""


def control_of(connected: socket.socket) -> bytes:
    return connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0")


def is_on_this_machine(peer_host: str, local_host: str) -> bool:
    """The same address at both ends, or the loopback at one: a client that asks for 127.0.1.1 comes from 127.0.0.1."""
    return peer_host == local_host or is_loopback(peer_host) or is_loopback(local_host)


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def begin_without_pace(listener: socket.socket) -> None:
    """Only where what is taken away may be given back."""
    control = control_of_this_machine()
    if control.startswith(PACING):
        with suppress(OSError):
            choose(listener, control)
            choose(listener, UNPACED)


def pace_as_the_machine_does(connected: socket.socket) -> None:
    """A connection from elsewhere, where the listener has begun it without; a route may have a control of its own."""
    control = control_of_this_machine()
    if control.startswith(PACING):
        with suppress(OSError):
            if control_of(connected) == UNPACED:
                choose(connected, control)


def choose(connected: socket.socket, control: bytes) -> None:
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
