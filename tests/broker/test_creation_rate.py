"""`max.connection.creation.rate`, second by second (KIP-612)."""

from __future__ import annotations

import pytest
from tests.broker.running_server import FakeClock

from strandline.broker.creation_rate import CreationRate


def test_a_seconds_worth_at_once_and_then_one_at_a_time() -> None:
    clock = FakeClock()
    rate = CreationRate(4, clock)
    assert [rate.take() for _ in range(5)] == [0, 0, 0, 0, 0.25]
    clock.now_s = 0.25
    assert [rate.take() for _ in range(2)] == [0, 0.25]
    clock.now_s = 0.3
    assert rate.take() == pytest.approx(0.2)


def test_what_was_not_used_is_not_saved_up() -> None:
    clock = FakeClock()
    rate = CreationRate(4, clock)
    clock.now_s = 3600
    assert [rate.take() for _ in range(5)] == [0, 0, 0, 0, 0.25]


def test_a_rate_may_change() -> None:
    clock = FakeClock()
    rate = CreationRate(1, clock)
    assert [rate.take(), rate.take()] == [0, 1]
    rate.per_second = 100
    clock.now_s = 1
    assert [rate.take() for _ in range(101)][-2:] == [0, 0.01]
