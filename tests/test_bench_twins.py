"""What the broker is measured beside is sent to as the broker's clients are: without a pace on this machine."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from strandline.broker import pacing

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().encode().split()


@pytest.fixture(autouse=True)
def _checkout_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [CHECKOUT, *sys.path])


@pytest.mark.parametrize("machines", [control for control in AVAILABLE if control != pacing.UNPACED])
def test_a_twin_begins_its_connections_without_a_pace(machines: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks.bare_loop import listening

    monkeypatch.setattr(pacing, "control_of_this_machine", lambda: machines)
    monkeypatch.setattr(pacing, "PACING", machines)
    with listening() as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert pacing.control_of(accepted) == pacing.UNPACED != machines


def test_nothing_that_is_measured_listens_in_another_way() -> None:
    """A twin that made its listener by itself would be paced again, and nobody would see it."""
    folder = Path(CHECKOUT, "benchmarks")
    listens = [path.name for path in folder.glob("*.py") if "create_server" in path.read_text(encoding="utf-8")]
    assert listens == ["bare_loop.py"]
