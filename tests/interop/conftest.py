from __future__ import annotations

import pytest
from tests.interop.kafka import SERIES, Kafka, RefereeMissing, fetch
from tests.interop.lives import Life, live_twice


def referee(series: str) -> Kafka:
    try:
        return fetch(series)
    except RefereeMissing as missing:
        pytest.fail(str(missing), pytrace=False)


@pytest.fixture(scope="session", params=SERIES)
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each Kafka in turn."""
    return referee(request.param)


@pytest.fixture(scope="session")
def kafka_3() -> Kafka:
    return referee("3.9")


@pytest.fixture(scope="session")
def kafka_4() -> Kafka:
    return referee("4.3")


@pytest.fixture(scope="session")
def lives(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Life]:
    return live_twice(kafka, tmp_path_factory.mktemp(f"lives-{kafka.series}"))


@pytest.fixture(scope="session", params=["stopped", "killed"])
def life(request: pytest.FixtureRequest, lives: dict[str, Life]) -> Life:
    """What a broker left, by each of its two ends."""
    return lives[request.param]
