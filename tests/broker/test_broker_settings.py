"""Where a broker listens, as Kafka's own files say it."""

from __future__ import annotations

import pytest

from strandline.broker.broker_settings import BrokerSettings, Listener
from strandline.model.settings import BadSetting

OF_KRAFT = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
}


def test_the_file_that_comes_with_kafka_4_serves_here() -> None:
    settings = BrokerSettings.from_properties(OF_KRAFT)
    assert settings.listener() == Listener("", 9092)
    assert settings.advertised_listener() == Listener("localhost", 9092)


@pytest.mark.parametrize(
    "listeners", ["PLAINTEXT://:9092,PLAINTEXT://:9093", "CONTROLLER://:9093", "SSL://:9092", "PLAINTEXT://:99999"]
)
def test_one_listener_in_plain_text_is_served(listeners: str) -> None:
    with pytest.raises(BadSetting, match="listeners="):
        BrokerSettings.from_properties(OF_KRAFT | {"listeners": listeners})
