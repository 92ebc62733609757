"""What tells a test that its broker could not do what it was asked for."""

from __future__ import annotations


class BrokerFailed(Exception):
    """The broker did not start, did not stop, or refused. The message says why."""


class PortTaken(BrokerFailed):
    """Somebody else listens where the broker wants to, or calls from there."""


def port_taken(port: int) -> PortTaken:
    return PortTaken(
        f"the broker did not start: port {port} is in use; end whoever listens there, choose another port,"
        " or leave it out, and the broker takes one that is free"
    )
