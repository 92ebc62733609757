"""What is held against a broker that has been sent damaged frames, and what is not."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from tests.fuzz import run
from tests.fuzz.footprint import open_connections
from tests.fuzz.run import OWN_CONNECTIONS_MAX, Report, fuzz
from tests.fuzz.verdict import GROWN_BYTES_MAX, faults


def test_files_that_a_process_has_opened_are_no_connections(tmp_path: Path) -> None:
    """A log that is written to opens its files, and frames may write to every partition."""
    before = open_connections(os.getpid())
    with open(tmp_path / "00000000000000000000.log", "wb"), open(tmp_path / "00000000000000000000.index", "wb"):
        assert open_connections(os.getpid()) == before
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert open_connections(os.getpid()) == before + 2
    assert open_connections(os.getpid()) == before


def test_a_broker_that_goes_on_and_keeps_nothing_has_no_fault() -> None:
    """But for connections to itself."""
    assert faults(Report(7, good_round_trips=2), "a frame was refused") == []
    assert faults(Report(7, good_round_trips=2, connections_left=OWN_CONNECTIONS_MAX), "") == []


def test_each_fault_is_a_sentence() -> None:
    report = Report(7, good_round_trips=1, connections_left=9, grown_bytes=GROWN_BYTES_MAX + 1, failure="it has gone")
    found = faults(report, "Traceback (most recent call last)")
    assert found == [
        "it has gone",
        "an exception that nobody foresaw:\nTraceback (most recent call last)",
        "the broker grew by 64 MiB",
        "9 connections left open",
        "the good client was not served meanwhile",
    ]


def test_a_broker_that_does_not_start_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SETTINGS", {"num.partitions": "none"})
    report, said = fuzz(1, 7)
    assert faults(report, said)[0].startswith("the broker did not start")
