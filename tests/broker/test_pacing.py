"""Who is on this machine is sent to without a pace, who comes from elsewhere as the machine has it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.broker.kafka_peer import WAIT_S, KafkaPeer
from tests.broker.running_server import RunningServer

from strandline.broker import pacing, server

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().encode().split()
OTHERS = [control for control in AVAILABLE if control != pacing.UNPACED]


@pytest.fixture(params=OTHERS)
def machines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The machine's control, and let it be one that paces."""
    control: bytes = request.param
    monkeypatch.setattr(pacing, "control_of_this_machine", lambda: control)
    monkeypatch.setattr(pacing, "PACING", control)
    return control


def test_a_peer_on_this_machine_is_sent_to_without_a_pace(machines: bytes) -> None:
    with RunningServer() as running, KafkaPeer(running.address) as peer:
        peer.echo(1)
        assert accepted_control(running) == pacing.UNPACED != machines


@pytest.mark.parametrize(
    ("peer_host", "local_host", "is_one"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "127.0.1.1", True),  # what clients get where the machine's own name is that
        ("192.0.2.2", "127.0.0.1", True),
        ("127.0.0.1", "192.0.2.2", True),
        ("192.0.2.2", "192.0.2.2", True),
        ("::1", "::1", True),
        ("fe80::1%eth0", "fe80::1%eth0", True),
        ("fe80::1%eth0", "fe80::2%eth0", False),
        ("192.0.2.3", "192.0.2.2", False),
    ],
)
def test_who_is_on_this_machine(peer_host: str, local_host: str, is_one: bool) -> None:
    assert pacing.is_on_this_machine(peer_host, local_host) is is_one


def test_a_peer_from_elsewhere_is_sent_to_as_the_machine_has_it(
    machines: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "is_on_this_machine", lambda *_: False)
    with RunningServer() as running, socket.create_connection(running.address, WAIT_S):
        running.wait_until(lambda: running.server.counters.accepted == 1)
        assert accepted_control(running) == machines


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
def test_a_control_that_may_not_be_chosen_again_stays(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "control_of_this_machine", lambda: b"bbr-of-another-world")
    with (
        RunningServer() as running,
        socket.create_connection(running.address, WAIT_S, source_address=(source, 0)),
    ):
        running.wait_until(lambda: running.server.counters.accepted == 1)
        assert accepted_control(running) == control_of_a_new_socket()


def test_where_nothing_paces_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "control_of_this_machine", lambda: b"cubic")
    with RunningServer() as running, KafkaPeer(running.address) as peer:
        peer.echo(1)
        assert accepted_control(running) == control_of_a_new_socket()


def test_what_this_machine_has_is_what_a_new_socket_has() -> None:
    assert pacing.control_of_this_machine() == control_of_a_new_socket() in AVAILABLE


def accepted_control(running: RunningServer) -> bytes:
    [channel] = running.server._channels
    return pacing.control_of(channel._socket)


def control_of_a_new_socket() -> bytes:
    with socket.socket() as fresh:
        return pacing.control_of(fresh)
