"""`zookeeper.*` as Kafka reads it."""

from __future__ import annotations

import pytest

from strandline.metadata.zookeeper_settings import ZooKeeperSettings
from strandline.model.settings import BadSetting


def connect(text: str) -> ZooKeeperSettings:
    return ZooKeeperSettings.from_properties({}, {"zookeeper.connect": text})


@pytest.mark.parametrize(
    ("text", "addresses", "chroot"),
    [
        ("localhost:2181", [("localhost", 2181)], ""),
        ("localhost", [("localhost", 2181)], ""),
        ("a:1,b:2,c:3", [("a", 1), ("b", 2), ("c", 3)], ""),
        ("a:1, b:2", [("a", 1), ("b", 2)], ""),
        ("a:1,b:2/kafka", [("a", 1), ("b", 2)], "/kafka"),
        ("a:1/kafka/eu", [("a", 1)], "/kafka/eu"),
        ("a:1/", [("a", 1)], ""),
        ("[::1]:2182/kafka", [("::1", 2182)], "/kafka"),
        ("[::1]", [("::1", 2181)], ""),
    ],
)
def test_servers_and_the_root(text: str, addresses: list[tuple[str, int]], chroot: str) -> None:
    settings = connect(text)
    assert list(settings.addresses()) == addresses
    assert settings.chroot == chroot


@pytest.mark.parametrize(
    "text",
    ["a:b", ":2181", "a:1,", "a:0", "a:65536", "a:-1", "::1:2181", "a:1//kafka", "a:1/kafka/", "a:1/../x", "/kafka"],
)
def test_what_cannot_be_reached_is_a_bad_setting(text: str) -> None:
    with pytest.raises(BadSetting, match=r"zookeeper\.connect="):
        connect(text)


def test_defaults_are_kafkas() -> None:
    settings = ZooKeeperSettings()
    assert (settings.zookeeper_connect, settings.zookeeper_session_timeout_ms) == ("", 18_000)
    assert settings.zookeeper_max_in_flight_requests == 10
    assert settings.connection_timeout_ms == 18_000


def test_the_connection_may_have_a_time_of_its_own() -> None:
    settings = ZooKeeperSettings.from_properties({}, {"zookeeper.connection.timeout.ms": "0"})
    assert settings.connection_timeout_ms == 0


def test_none_in_flight_would_be_none_at_all() -> None:
    with pytest.raises(BadSetting, match="must be at least 1"):
        ZooKeeperSettings.from_properties({}, {"zookeeper.max.in.flight.requests": "0"})
