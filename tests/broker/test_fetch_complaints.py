"""A replica that follows nothing for long is told of once, with the reason."""

from __future__ import annotations

import pytest

from strandline.broker.fetch_complaints import TOLD_AFTER_MS, FetchComplaints


def test_a_trouble_that_lasts_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    complaints = FetchComplaints(2)
    for elapsed_ms in range(0, 3 * TOLD_AFTER_MS, 1_000):
        complaints.failed("orders-0", "orders-0", "NOT_LEADER_OR_FOLLOWER", elapsed_ms)
    assert caplog.messages == ["orders-0: nothing was fetched from leader 2 for 10 s: NOT_LEADER_OR_FOLLOWER"]


def test_one_that_ends_is_nobodys_business(caplog: pytest.LogCaptureFixture) -> None:
    complaints = FetchComplaints(2)
    for elapsed_ms in range(0, 3 * TOLD_AFTER_MS, 1_000):
        complaints.failed("orders-0", "orders-0", "NOT_LEADER_OR_FOLLOWER", elapsed_ms)
        if elapsed_ms % 5_000 == 0:
            complaints.is_over("orders-0")
    assert caplog.messages == []


def test_troubles_are_told_apart(caplog: pytest.LogCaptureFixture) -> None:
    complaints = FetchComplaints(2)
    complaints.failed("a", "a", "it is away", 0)
    complaints.failed("b", "b", "it is away", TOLD_AFTER_MS)
    complaints.failed("a", "a", "it is away", TOLD_AFTER_MS)
    assert [message.partition(":")[0] for message in caplog.messages] == ["a"]
    complaints.is_over("a")
    assert complaints
    complaints.is_over("b")
    assert not complaints
