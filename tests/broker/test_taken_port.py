"""A port that somebody else has: the start fails with that, and with nothing else, whatever the data holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.broker.group_peer import GroupPeer
from tests.broker.running_broker import RunningBroker


def test_groups_that_are_being_loaded_are_let_go(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with RunningBroker(str(tmp_path / "data")) as running, GroupPeer(running.address) as peer:
        peer.create_topic("orders")
        peer.find_coordinator("readers")
        peer.commit("readers", {0: 1})
    with RunningBroker(str(tmp_path / "other")) as other:
        taken = f"PLAINTEXT://127.0.0.1:{other.address[1]}"
        with pytest.raises(OSError, match="in use"), RunningBroker(str(tmp_path / "data"), listeners=taken):
            pass
    assert [record.getMessage() for record in caplog.records] == []
    with RunningBroker(str(tmp_path / "data")) as running, GroupPeer(running.address) as peer:
        peer.find_coordinator("readers")
        running.wait_until(lambda: not running.broker.groups.led.is_loading)
        assert peer.offset("readers") == 1
