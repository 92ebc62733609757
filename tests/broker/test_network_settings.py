"""Limits by Kafka's names."""

from __future__ import annotations

import pytest

from strandline.broker.network_settings import NetworkSettings
from strandline.model.settings import BadSetting


def test_every_limit_is_finite_unless_asked_otherwise() -> None:
    settings = NetworkSettings()
    assert (settings.max_connections, settings.max_connections_per_ip) == (10_000, 5_000)
    assert settings.max_connection_creation_rate == 1_000
    assert settings.socket_listen_backlog_size == 1_024
    assert settings.queued_max_request_bytes > 0
    assert settings.socket_request_max_bytes == 104_857_600
    assert settings.connections_max_idle_ms == 600_000


def test_from_server_properties() -> None:
    settings = NetworkSettings.from_properties(
        {}, {"max.connections.per.ip.overrides": "10.0.0.1:5, ::1:7", "queued.max.request.bytes": "-1"}
    )
    assert settings.connections_max_by_ip() == {"10.0.0.1": 5, "::1": 7}
    assert settings.queued_max_request_bytes == -1


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.1:many", ":5", "10.0.0.1:-1"])
def test_overrides_that_make_no_sense(text: str) -> None:
    with pytest.raises(BadSetting, match="address:count"):
        NetworkSettings.from_properties({}, {"max.connections.per.ip.overrides": text})
