"""Whatever goes wrong in a log that has lost power is told as a problem, and ends no proof half-way."""

from __future__ import annotations

import pytest
from tests.log.crash_oracle import CrashOracle
from tests.log.test_crashes_random import RandomRun
from tests.log.test_damage import LOG_NAMES
from tests.proof import stored


def fail(*_: object) -> None:
    assert not LOG_NAMES


def raise_what_nobody_foresaw(*_: object) -> None:
    raise KeyError("epoch")


def test_an_assertion_is_told_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CrashOracle, "verify", fail)
    told = stored.crash_everywhere(3)
    assert isinstance(told, str)
    assert told.startswith("seed 3: AssertionError at test_stored.py:")
    assert ", assert not LOG_NAMES; step 0 of " in told


def test_so_is_what_nobody_foresaw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomRun, "play", raise_what_nobody_foresaw)
    monkeypatch.setattr(stored, "reopened", raise_what_nobody_foresaw)
    for told in (stored.crash_everywhere(3), stored.cut_everywhere(LOG_NAMES[0])):
        assert isinstance(told, str)
        assert ": KeyError at test_stored.py:" in told
